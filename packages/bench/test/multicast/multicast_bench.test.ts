import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runBench } from '../../src/run_bench.js';
import { building } from '../support/building.js';

async function bench(options: Record<string, unknown>): Promise<string> {
  const stdout = new PassThrough();
  const printed = text(stdout);
  await runBench('multicast', options, { stdout, stderr: new PassThrough() });
  stdout.end();
  return printed;
}

interface Figures {
  source: number;
  receiver: number;
}
interface Cell {
  delivery: string;
  authentication: string;
  receivers: number;
  window: number;
  loss_distance: number;
  goodput: Figures;
  to_unicast: Figures;
  to_same_unicast?: Figures;
  to_plain: Figures;
  helper_ns_per_kb: Figures;
  repairs: number;
  recovered: number;
}
interface TreeCell {
  case: string;
  seed: number;
  digest: string;
  due: number;
  on_time: number[];
  lost: number;
}

test('a short run has every authentication beside unicast, repairs, and marks', building, async () => {
  const report = JSON.parse(await bench({ json: true, runs: '2', bytes: '200000', clients: '3' })) as {
    cells: Cell[];
    findings: { claim: string; required: number; measured: number; holds: boolean }[];
  };
  const find = (authentication: string, receivers: number): Cell | undefined =>
    report.cells.find(
      (cell) => cell.delivery === 'channel' && cell.authentication === authentication && cell.receivers === receivers,
    );
  for (const scheme of ['none', 'signed', 'signed-inline', 'timed', 'per-packet', 'per-stream', 'tags'])
    expect(find(scheme, 1)?.goodput.source).toBeGreaterThan(0);
  expect(find('signed', 1)?.helper_ns_per_kb.source).toBeGreaterThan(0);
  expect(find('none', 1)?.helper_ns_per_kb).toEqual({ source: 0, receiver: 0 });
  expect(find('none', 1)?.to_plain).toMatchObject({ source: 1, receiver: 1 });
  // A signature for each packet costs many times what the packet costs.
  expect(find('per-packet', 1)?.to_plain.source).toBeLessThan(0.5);
  expect(find('none', 3)?.to_same_unicast?.source).toBeGreaterThan(0);
  const repaired = report.cells.filter(({ loss_distance }) => loss_distance === 100);
  expect(repaired.map(({ window }) => window)).toEqual([100, 1000, 10_000]);
  for (const { repairs, recovered } of repaired) {
    expect(repairs).toBeGreaterThan(0);
    expect(recovered).toBeGreaterThan(0);
  }
  for (const { holds, measured, required } of report.findings) expect(holds).toBe(measured >= required);
});

test('a simulated tree replays with its seed, and another seed is another run', building, async () => {
  const run = async (seed: string): Promise<TreeCell[]> => {
    const options = { sim: true, cases: 'failures', runs: '1', seed, json: true };
    return (JSON.parse(await bench(options)) as { cells: TreeCell[] }).cells;
  };
  const [first] = await run('7');
  expect(first).toMatchObject({ case: 'failures', seed: 7, digest: expect.stringMatching(/^[\da-f]{16}$/) });
  // Twenty receivers of a frame each 33 ms, for 130 s
  expect(first?.due).toBeGreaterThan(20 * 3900);
  expect(first?.on_time[0]).toBeLessThanOrEqual(first?.due ?? 0);
  const [again] = await run('7');
  expect(again?.digest).toBe(first?.digest);
  const [other] = await run('8');
  expect(other?.digest).not.toBe(first?.digest);
});

test('options that do not go together are refused', async () => {
  await expect(bench({ sim: true, clients: '1' })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--clients'),
  });
  await expect(bench({ sim: true, cases: 'storm' })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('none of reports, failures'),
  });
});
