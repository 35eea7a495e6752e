import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runBench } from '../../../src/run_bench.js';
import { building } from '../../support/building.js';

async function bench(options: Record<string, unknown>): Promise<string> {
  const stdout = new PassThrough();
  const printed = text(stdout);
  await runBench('direct-return', { sim: true, runs: '2', ...options }, { stdout, stderr: new PassThrough() });
  stdout.end();
  return printed;
}

interface Report {
  seeds: number[];
  cells: { case: string; arm: string; at: Record<string, unknown>; quantity: string; value: number }[];
  findings: { case: string; truth: string }[];
}

test('simulated cases have figures at each place, findings, and the seeds that replay them', building, async () => {
  const options = { cases: 'first-packet', seed: '7', json: true };
  const report = JSON.parse(await bench(options)) as Report;
  expect(report.seeds).toEqual([7, 8]);
  // The body comes by way of the gateway after 30 ms in A: two ways of 10 ms and of 5 ms each
  const proxied = report.cells.find(
    ({ arm, at, quantity }) => arm === 'proxied' && at['topology'] === 'A' && quantity === 'first_body_ms',
  );
  expect(proxied?.value).toBeGreaterThan(30);
  expect(proxied?.value).toBeLessThan(31);
  expect(report.findings.length).toBeGreaterThan(2);
  expect(new Set(report.findings.map((finding) => finding.case))).toEqual(new Set(['first-packet']));
  const again = JSON.parse(await bench(options)) as Report;
  expect(again.cells).toEqual(report.cells);
});

test('tables say which seeds were run', building, async () => {
  const printed = await bench({ cases: 'first-packet', seed: '3' });
  expect(printed).toContain('seeds 3 to 4');
  expect(printed).toMatch(/first-packet +first_body_ms +return +3 /);
});

test('an unknown case, and processes besides virtual time, are refused', async () => {
  await expect(bench({ cases: 'loss,luck' })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('none of first-packet, loss, numbers, fairness, faults'),
  });
  await expect(bench({ real: true })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--real'),
  });
});
