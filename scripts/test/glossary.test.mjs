import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkGlossary, findAvoided, findHeadless, readGlossary } from '../checks/glossary.mjs';

const glossary = (exceptions = '') =>
  readGlossary(`| word | meaning | avoid |
|---|---|---|
| in flight | sent | \`under way\`, on its way |
| maximum | a bound | \`k_most_*\` |

## Exceptions

| phrase | where | why |
|---|---|---|
${exceptions}`);
const find = (text, exceptions, path = 'a/b.ts') => findAvoided(glossary(exceptions), [{ path, text }]);

test('a word that is to be avoided is told with its place and the right word', () => {
  assert.deepEqual(find('one\nrequests under way\n'), [
    'a/b.ts:2: "under way" is called "in flight" (docs/glossary.md)',
  ]);
});

test('also across a line break of a comment', () => {
  assert.equal(find('/**\n * What is under\n * way.\n */').length, 1);
  assert.equal(find('// What is under\n// way.').length, 1);
});

test('a star stands for the rest of a word', () => {
  assert.equal(find('constexpr int k_most_paths = 3;').length, 1);
  assert.deepEqual(find('almost k_mostly'), []);
});

test('a phrase is also found in identifiers, in names of files and at the start of a sentence', () => {
  for (const text of ['Under way', 'UNDER_WAY', 'under_way_', 'underWay', 'isUnderWay', '#underWaySince', 'under-way'])
    assert.equal(find(text).length, 1, text);
  for (const text of ['thunderWay', 'underWays', 'under_ways', 'wonder_way', 'kMostly'])
    assert.deepEqual(find(text), [], text);
  assert.equal(find('const kMostPaths = 3;').length, 1);
  assert.deepEqual(find('', '', 'src/under_way.ts'), [
    'src/under_way.ts: in its name, "under way" is called "in flight" (docs/glossary.md)',
  ]);
});

test('words that are only part of others, or without backticks, are free', () => {
  assert.deepEqual(find('sunder ways, under ways, thunder way, on its way'), []);
});

test('an exception holds for its phrase and its files alone', () => {
  const exception = '| `is under way since` | `a/` | it is a title |\n';
  assert.deepEqual(find('the song is under way since May', exception), []);
  assert.equal(find('the song is under way', exception).length, 2);
  assert.equal(find('the song is under way since May', exception, 'b/a.ts').length, 2);
});

test('an exception that nothing needs is told', () => {
  assert.deepEqual(find('', '| `under way` | `a/` | |\n'), [
    'docs/glossary.md: nothing needs the exception "under way"',
  ]);
});

test('a word that stands there twice, a row that is none and an empty table are refused', () => {
  assert.throws(
    () => readGlossary('| word | meaning | avoid |\n|---|---|---|\n| a | b | c |\n| a | d | |\n'),
    /"a" stands there twice/,
  );
  assert.throws(() => readGlossary('| word | meaning | avoid |\n|---|---|---|\n| a | b |\n'), /2 cells instead of 3/);
  assert.throws(() => readGlossary('no table'), /no word/);
});

test('a comment that leaves out its noun is told with its place', () => {
  const headless = (text) => findHeadless([{ path: 'a.ts', text }]);
  assert.deepEqual(headless('let a;\n  /** Of the last request. */\n'), [
    'a.ts:2: a comment begins with "Of": name the noun (docs/glossary.md)',
  ]);
  assert.deepEqual(headless('/**\n * Who waits for bytes.\n */\n'), [
    'a.ts:2: a comment begins with "Who": name the noun (docs/glossary.md)',
  ]);
  assert.deepEqual(
    headless('/** Size of the last request. */\n/** Office hours */\n// Of two equal ones the first wins.\n'),
    [],
  );
});

test('all text of a repository is read, whatever its language, and no data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-glossary-'));
  try {
    mkdirSync(join(folder, 'docs'));
    const table = '| word | meaning | avoid |\n|---|---|---|\n| in flight | sent | `under way` |\n';
    writeFileSync(join(folder, 'docs/glossary.md'), table);
    for (const name of ['a.ts', 'b.cc', 'c.md', 'd.mjs', 'e.png', 'g.json', 'h.svg', 'pnpm-lock.yaml', 'run'])
      writeFileSync(join(folder, name), '// under way\n');
    writeFileSync(join(folder, 'f.ts'), '/** Of a request. */\n');
    execFileSync('git', ['init', '-q'], { cwd: folder });
    execFileSync('git', ['add', '.'], { cwd: folder });
    assert.deepEqual(
      checkGlossary(folder).map((line) => line.split(':')[0]),
      ['a.ts', 'b.cc', 'c.md', 'd.mjs', 'g.json', 'h.svg', 'run', 'f.ts'],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
