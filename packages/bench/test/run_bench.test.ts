import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { runBench } from '../src/run_bench.js';

const world = () => ({ stdout: new PassThrough(), stderr: new PassThrough() });

test('an unknown experiment is refused with the ones there are', async () => {
  await expect(runBench('engin', {}, world())).rejects.toMatchObject({ code: 'BENCH_UNKNOWN', hint: expect.stringContaining("'engine'") });
});

test('an option that is no number is refused by its name', async () => {
  await expect(runBench('engine', { runs: 'many' }, world())).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('--runs') });
});
