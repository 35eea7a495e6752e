import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setup } from '../setup.mjs';
import { withLock } from '../setup/lock.mjs';
import { run } from '../setup/process.mjs';
import { filesBelow, root } from '../setup/stamp.mjs';
import { steps } from '../setup/steps.mjs';
import { browser } from '../stages/browser.mjs';
import { executions, fuzz, parseSeeds } from '../stages/fuzz.mjs';
import { failure } from '../stages/failure.mjs';
import { lint } from '../stages/lint.mjs';
import { typescript } from '../stages/typescript.mjs';
import { unit } from '../stages/unit.mjs';
import { declaredTests, fuzzTargets, notRun, playwrightFiles, unitPrograms, vitestFiles } from '../stages/listed.mjs';

test('what exists and did not run is a failure, and so is nothing at all', () => {
  assert.deepEqual(notRun('fuzz target', ['a', 'b'], ['a', 'b', 'c']), []);
  assert.deepEqual(notRun('fuzz target', ['a', 'b'], ['a']), ['b: no fuzz target ran']);
  assert.deepEqual(notRun('fuzz target', [], []), ['there is no fuzz target at all']);
});

test('a failure names its test and begins the reason, without colours and stack', () => {
  assert.equal(failure('a.test.ts: adds'), 'a.test.ts: adds');
  assert.equal(
    failure('a.test.ts: adds', '\u001b[31mexpected 1\u001b[39m\n\n    at add (a.ts:1:1)\nto be 2'),
    'a.test.ts: adds\n          expected 1\n          to be 2',
  );
  assert.equal(failure('long', 'line\n'.repeat(99)).split('\n').length, 13);
});

test('the sources list what has to run', () => {
  assert.ok(fuzzTargets().includes('frame_fuzz'));
  assert.ok(unitPrograms().get('wire_test') > 0);
  assert.ok(vitestFiles().includes('packages/cli/test/commands.test.ts'));
  // Nothing builds this folder.
  assert.ok(vitestFiles().includes('packages/bench/test/pages/build/build_page.test.ts'));
  assert.ok(playwrightFiles().includes('packages/web-client/test/browser/page.spec.ts'));
  for (const file of [...vitestFiles(), ...playwrightFiles()]) assert.ok(existsSync(join(root, file)));
});

test('declared tests are counted where they begin', () => {
  assert.equal(
    declaredTests(
      'TEST(A, B) {}\n  // TEST(no, no)\nTEST_F(C, D) {\n}\nTYPED_TEST(E, F) {}\nTEST_P(G, H) {}\nTEST_SUITE(x)\n',
    ),
    4,
  );
});

test('a fuzz target that ran no input has not run', () => {
  assert.equal(executions('#2\tINITED\nDone 12345 runs in 10 second(s)\n'), 12345);
  assert.equal(executions('nothing'), 0);
});

test('the seeds and corpora of fuzz targets are bytes in hexadecimal, for targets that exist', () => {
  for (const folder of ['seeds', 'corpus']) {
    const files = filesBelow(`packages/native/fuzz/${folder}`, () => true);
    assert.ok(files.length > 0);
    for (const file of files) {
      assert.ok(fuzzTargets().includes(basename(file, '.txt')), file);
      const inputs = parseSeeds(readFileSync(join(root, file), 'utf8'));
      assert.ok(inputs.length > 0, file);
      if (folder === 'seeds')
        assert.ok(
          inputs.every((bytes) => bytes.length > 1),
          file,
        );
    }
  }
  const sizes = filesBelow('packages/native/fuzz/corpus', () => true).map((file) => statSync(join(root, file)).size);
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 5e6);
  assert.deepEqual(parseSeeds('00ff  # both ends\n\n'), [Buffer.from([0, 255])]);
  assert.throws(() => parseSeeds('0'), /not hexadecimal/);
});

test('a program that a signal ended has the exit code that a shell gives it', async () => {
  assert.equal(await run('sh', ['-c', 'kill -TERM $$']), 143);
  assert.equal(await run('sh', ['-c', 'kill -INT $$']), 130);
  assert.equal(await run('sh', ['-c', 'exit 7']), 7);
});

test('a program ends when it is stopped', async () => {
  const stop = new AbortController();
  const file = join(mkdtempSync(join(tmpdir(), 'sheaf-stop-')), 'pid');
  const program = `echo $$ > ${file}.new && mv ${file}.new ${file} && exec sleep 1000`;
  const ended = assert.rejects(run('sh', ['-c', program], { stop: stop.signal }), { name: 'AbortError' });
  while (!existsSync(file)) await sleep(10);
  stop.abort();
  await ended;
  const path = `/proc/${readFileSync(file, 'utf8').trim()}`;
  while (existsSync(path)) await sleep(10);
  rmSync(dirname(file), { recursive: true });
  await assert.rejects(run('true', [], { stop: stop.signal }), { name: 'AbortError' });
});

test('what waits for a step of the set-up begins once, and nothing that waits for others', async () => {
  let begun = 0;
  await setup('build', new Set(['packages']), { packages: () => (begun += 1), typescript: () => assert.fail() });
  assert.equal(begun, 1);
});

test('each step of the set-up is for a stage', () => {
  const needed = [lint, typescript, browser, unit, fuzz].flatMap(({ needs }) => needs);
  assert.deepEqual(
    steps('test')
      .map(({ name }) => name)
      .filter((name) => !needed.includes(name)),
    [],
  );
});

test('the set-up leaves signals to what runs after it', async () => {
  const before = process.listenerCount('SIGTERM');
  await withLock(async () => assert.equal(process.listenerCount('SIGTERM'), before + 1));
  assert.equal(process.listenerCount('SIGTERM'), before);
});
