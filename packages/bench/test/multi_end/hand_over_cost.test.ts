import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { runBench } from '../../src/index.js';
import type { HandOverCost } from '../../src/multi_end/hand_over/hand_over_cost.js';
import { building } from '../support/building.js';

test('what a connection costs at a backend, in both key modes', building, async () => {
  const stdout = new PassThrough();
  // On a busy machine an import may take longer than it should: that fails no test.
  await runBench(
    'multi-end',
    { json: true, 'hand-over': true, runs: '2', connections: '50' },
    { stdout, stderr: new PassThrough() },
  ).catch((error: unknown) =>
    expect(error).toMatchObject({ code: 'BENCH_FAILED', message: expect.stringContaining('an import takes') }),
  );
  const { hand_over: costs, most } = JSON.parse(String(stdout.read())) as {
    hand_over: HandOverCost[];
    most: { bytes: number };
  };
  expect(costs.map(({ keys, runs }) => [keys, runs])).toEqual([
    ['per-path', 2],
    ['shared', 2],
  ]);
  for (const {
    fresh_bytes,
    idle_bytes,
    import_us,
    import_quartiles_us: [low, high],
  } of costs) {
    expect(fresh_bytes).toBeGreaterThan(1_000);
    expect(idle_bytes).toBeGreaterThan(fresh_bytes);
    expect(idle_bytes).toBeLessThanOrEqual(most.bytes);
    expect(low).toBeLessThanOrEqual(import_us);
    expect(import_us).toBeLessThanOrEqual(high);
  }
});

test('options of the other measurements are refused', async () => {
  await expect(
    runBench(
      'multi-end',
      { 'hand-over': true, backends: '3' },
      { stdout: new PassThrough(), stderr: new PassThrough() },
    ),
  ).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('backends') });
});
