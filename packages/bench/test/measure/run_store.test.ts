import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ProgressBar } from '../../src/measure/progress_bar.js';
import { runSchema } from '../../src/pages/simulation/run_record.js';
import { RunStore } from '../../src/measure/run_store.js';
import { someRun } from '../pages/some_cells.js';

const settings = { seed: 1, runs: 2, clients: 1, program: 'abc' };
let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-run-store-'));
  file = join(directory, 'deep', 'runs.jsonl');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('finished cells are there again', async () => {
  const store = await RunStore.open(file, settings, { run: runSchema, resume: false });
  await store.add('a/b/c/d', [someRun(1), someRun(2)]);
  const again = await RunStore.open(file, settings, { run: runSchema, resume: true });
  expect(again.cells).toEqual(new Map([['a/b/c/d', [someRun(1), someRun(2)]]]));
  await again.add('e', [someRun(3)]);
  expect([...(await RunStore.open(file, settings, { run: runSchema, resume: true })).cells.keys()]).toEqual([
    'a/b/c/d',
    'e',
  ]);
});

test('a line that was cut off is measured again', async () => {
  const store = await RunStore.open(file, settings, { run: runSchema, resume: false });
  await store.add('whole', [someRun(1)]);
  writeFileSync(file, `${readFileSync(file, 'utf8')}{"cell":"half","ru`);
  const again = await RunStore.open(file, settings, { run: runSchema, resume: true });
  expect([...again.cells.keys()]).toEqual(['whole']);
  await again.add('half', [someRun(2)]);
  expect([...(await RunStore.open(file, settings, { run: runSchema, resume: true })).cells.keys()]).toEqual([
    'whole',
    'half',
  ]);
});

test('without resuming a file begins anew; resuming without a file begins one', async () => {
  await (await RunStore.open(file, settings, { run: runSchema, resume: true })).add('a', [someRun(1)]);
  expect((await RunStore.open(file, settings, { run: runSchema, resume: false })).cells.size).toBe(0);
});

test('runs of other settings are not mixed', async () => {
  await RunStore.open(file, settings, { run: runSchema, resume: false });
  await expect(RunStore.open(file, { ...settings, runs: 100 }, { run: runSchema, resume: true })).rejects.toMatchObject(
    { code: 'BENCH_FAILED', message: expect.stringContaining('--runs 2') },
  );
  await expect(
    RunStore.open(file, { ...settings, program: 'new' }, { run: runSchema, resume: true }),
  ).rejects.toMatchObject({ message: expect.stringContaining('the program has changed') });
  writeFileSync(file, 'something else');
  await expect(RunStore.open(file, settings, { run: runSchema, resume: true })).rejects.toMatchObject({
    message: expect.stringContaining('no file of runs'),
  });
});

test('the bar tells how long it will take, not more than once a second', () => {
  let now = 0;
  const lines: string[] = [];
  const bar = new ProgressBar(
    4,
    'cells',
    (line) => lines.push(line),
    () => now,
  );
  now = 30_000;
  bar.step('first');
  now += 500;
  bar.step('second');
  expect(lines).toEqual(['[######------------------] 1 of 4 cells, 1 min 30 s left (first)']);
  now = 60_000;
  bar.step('third');
  bar.step('fourth');
  expect(lines.slice(1)).toEqual([
    '[##################------] 3 of 4 cells, 20 s left (third)',
    '[########################] 4 of 4 cells, 0 s left (fourth)',
  ]);
});
