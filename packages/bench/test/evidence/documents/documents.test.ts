import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withoutBlocks } from '../../../src/evidence/documents/blocks.js';
import { fillDocuments, writeDocuments } from '../../../src/evidence/documents/documents.js';
import { measurementsOf } from '../../../src/evidence/evidence.js';
import { openLaboratory } from '../../../src/evidence/laboratory.js';
import { someArtefact } from '../some_artefact.js';

test('the tables of the README and of all documents equal the committed results', { timeout: 300_000 }, async () => {
  const laboratory = await openLaboratory();
  const documents = await fillDocuments(laboratory.root, await measurementsOf(laboratory));
  expect(documents.map(({ path }) => path)).toContain('README.md');
  // `sheaf evidence documents` writes them.
  for (const { path, before, after } of documents) expect(before, path).toBe(after);
});

/** A number with a unit of results, which has to come from one. Commands in code are no figures. */
const figure =
  /(?<![\w.])\d[\d,.]*(?:\s(?:to|and|or)\s[\d,.]+)?\s?(?:%|×|[nµm]?s\b|seconds|minutes|hours|(?:[KMG]i?)?B\b|bytes|[KMG]bit\/s|times\b|requests\b|runs\b)/g;
/** Cells of tables that are nothing but a figure */
const cell = /(?<=\|\s*)[\d,.]+(?:\s\([^)]*\))?(?=\s*\|)/g;

/** A number with a unit that settings and limits of the product do not have, so that it was measured */
const measured = /(?<![\w.])\d[\d,.]*(?:\s(?:to|and|or)\s[\d,.]+)?(?:\sinstead of\s[\d,.]+)?\s?(?:×|[nµ]s\b|Gbit\/s)/g;

const figuresIn = (text: string, patterns: readonly RegExp[] = [figure, cell]): string[] => {
  const written = withoutBlocks(text)
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/`[^`]*`/g, '');
  return patterns.flatMap((pattern) => [...written.matchAll(pattern)].map(([found]) => found));
};

test('a figure that somebody typed is found, and those of blocks and of commands are none', () => {
  expect(figuresIn('It takes 3.5 ms.\n')).toEqual(['3.5 ms']);
  expect(figuresIn('20 to 30 % of 5 Mbit/s\n')).toEqual(['20 to 30 %', '5 Mbit/s']);
  expect(figuresIn('| what | ns |\n|---|---|\n| one | 86 |\n| two | 1.5 (1 to 2) |\n')).toEqual(['86', '1.5 (1 to 2)']);
  expect(figuresIn('<!-- evidence: paper/figure-1 claims -->\n3.5 ms\n<!-- end of evidence -->\n')).toEqual([]);
  expect(figuresIn('`sleep 3 s` and 4 backends of decision 10\n\n```sh\nsleep 3 s\n```\n')).toEqual([]);
});

test('no figure in the documents of results was typed', async () => {
  const { root } = await openLaboratory();
  const directory = join(root, 'docs', 'results');
  for (const name of (await readdir(directory)).filter((file) => file.endsWith('.md')))
    // A figure that no committed result has belongs into a decision, or beside the command that measures it.
    expect(figuresIn(await readFile(join(directory, name), 'utf8')), name).toEqual([]);
});

test('a measured figure is told from settings, of which other documents have many', () => {
  expect(figuresIn('The cost is 24 to 40 µs with 256 groups.\n', [measured])).toEqual(['24 to 40 µs']);
  expect(figuresIn('1.4 to 2.8 instead of 4.1 Gbit/s, 2.5 × as much\n', [measured])).toEqual([
    '1.4 to 2.8 instead of 4.1 Gbit/s',
    '2.5 ×',
  ]);
  expect(figuresIn('a limit of 256 KiB, a timer of 200 ms\n', [measured])).toEqual([]);
});

test('no measured figure in the README, in internals and in the guide of the experiments was typed', async () => {
  const { root } = await openLaboratory();
  const internals = (await readdir(join(root, 'docs', 'internals'))).filter((file) => file.endsWith('.md'));
  const names = ['README.md', join('packages', 'bench', 'README.md')];
  for (const name of [...names, ...internals.map((file) => join('docs', 'internals', file))])
    expect(figuresIn(await readFile(join(root, name), 'utf8'), [measured]), name).toEqual([]);
});

test('documents with blocks are written, and others are left alone', async () => {
  const root = await mkdtemp(join(tmpdir(), 'sheaf-documents-'));
  await mkdir(join(root, 'docs', 'results'), { recursive: true });
  const block = '<!-- evidence: paper/figure-1 claims -->\nold\n<!-- end of evidence -->\n';
  await writeFile(join(root, 'README.md'), `# Title\n\n${block}`);
  await writeFile(join(root, 'docs', 'results', 'times.md'), 'nothing is taken from results here\n');
  const measurements = [
    { artefact: someArtefact(), result: undefined, virtualTime: false, stale: false, otherSettings: false },
  ];
  await expect(writeDocuments(root, measurements)).resolves.toEqual(['README.md']);
  await expect(readFile(join(root, 'README.md'), 'utf8')).resolves.toContain('Not measured yet');
  await expect(writeDocuments(root, measurements)).resolves.toEqual([]);
});
