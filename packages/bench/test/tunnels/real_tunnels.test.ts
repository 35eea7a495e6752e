import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
// Its compiled form: it starts programs of its own, which lie beside it.
import { runBench } from '@sheaf/bench';
import { expect, test } from 'vitest';
import { judgeTunnels } from '../../src/tunnels/real/findings.js';
import { floodRows, floodRowSchema, judgeFlood, type FloodPlan } from '../../src/tunnels/real/flood.js';
import { ARMS, type Plan, type Sample } from '../../src/tunnels/real/plans.js';
import { tunnelRows, tunnelRowSchema } from '../../src/tunnels/real/rows.js';

async function bench(options: Record<string, unknown>): Promise<string> {
  const stdout = new PassThrough();
  const printed = text(stdout);
  await runBench('tunnels', { real: true, json: true, ...options }, { stdout, stderr: new PassThrough() });
  stdout.end();
  return printed;
}

test(
  'a short run has rows of both proxies and of both clients, of floods, and of idle tunnels',
  { timeout: 120_000 },
  async () => {
    const cases = ['sheaf', 'masque-go-by-sheaf', 'direct'] as const;
    const options = { cases: `${cases.join()},flood,idle`, runs: '1', bytes: '400000', clients: '2', quota: '1' };
    const report = JSON.parse(await bench({ ...options, datagrams: '2000', tunnels: '200' })) as {
      tunnels: unknown[];
      flood: unknown[];
      idle: { tunnels: number; connections: number; after_mib: number };
      findings: { required: number; measured: number; holds: boolean }[];
      skipped: object[];
      versions: object;
    };
    expect(report.skipped).toEqual([]);
    expect(report.versions).toMatchObject({ 'masque-go': '0.4.0' });
    const rows = report.tunnels.map((row) => tunnelRowSchema.parse(row));
    expect(rows.map(({ arm }) => arm)).toEqual(cases);
    for (const row of rows) {
      const own = [row.proxy_cpu_s_per_gb, row.carrier_cpu_s_per_gb, row.proxy_rss_mib];
      expect(row).toMatchObject({ clients: 2, quota: 1, runs: 1, failed: 0, ...ARMS[row.arm] });
      const used = [row.server_cpu_s_per_gb, row.client_cpu_s_per_gb, ...(row.proxy === 'none' ? [] : own)];
      for (const each of used) expect(each).toBeGreaterThan(0);
    }
    expect(report.flood.map((row) => floodRowSchema.parse(row))).toHaveLength(6);
    // So few tunnels are less than what garbage adds and takes.
    expect(report.idle).toMatchObject({ tunnels: 200, connections: 4 });
    expect(report.idle.after_mib).toBeGreaterThan(10);
    expect(report.findings).toHaveLength(2);
    for (const { holds, measured, required } of report.findings) expect(holds).toBe(measured >= required);
  },
);

test('options that belong to other ways are refused', async () => {
  const usage = (option: string): object => ({ code: 'USAGE', message: expect.stringContaining(option) as string });
  await expect(bench({ sim: true })).rejects.toMatchObject(usage('--real'));
  await expect(bench({ cells: 'figure-2' })).rejects.toMatchObject(usage('--cells'));
  await expect(bench({ cases: 'figure-2' })).rejects.toMatchObject(usage('--cases'));
  const world = { stdout: new PassThrough(), stderr: new PassThrough() };
  await expect(runBench('tunnels', {}, world)).rejects.toMatchObject(usage('--real'));
});

test('rows have medians for each GB, and marks compare proxies with the same client', () => {
  const sample = (seconds: number, proxy: number): Sample => ({
    seconds,
    proxy_cpu_s: proxy,
    carrier_cpu_s: 2,
    server_cpu_s: 1,
    client_cpu_s: 1,
    proxy_rss_mib: 80,
  });
  const measured = (arm: Plan['arm'], quota: number, samples: Sample[], failures: string[] = []) => ({
    plan: { arm, clients: 1, quota },
    samples,
    failures,
  });
  const rows = tunnelRows(
    [
      measured('sheaf', 0.5, [sample(1, 1), sample(2, 1), sample(9, 7)], ['late']),
      measured('masque-go', 0.5, [sample(8, 2.5)]),
      measured('sheaf-by-sheaf', 0.5, [sample(2, 1)]),
      measured('masque-go-by-sheaf', 0.5, [], ['refused']),
      // Judged are proxies that have more to do than they can.
      measured('sheaf', 1, [sample(1, 1)]),
      measured('masque-go', 1, [sample(1, 1)]),
      measured('direct', 1, [sample(1, 0)]),
    ],
    500_000_000,
  );
  expect(rows).toHaveLength(6);
  expect(rows[0]).toMatchObject({ goodput_mbps: 2000, proxy_cpu_s_per_gb: 2, carrier_cpu_s_per_gb: 4 });
  expect(rows[0]).toMatchObject({ busy: 1.556, runs: 3, failed: 1 });
  expect(judgeTunnels(rows).map(({ claim, measured: ratio, holds }) => [claim, ratio, holds])).toEqual([
    ['1 at once, by masque-go: goodput to that of masque-go', 4, true],
    ['1 at once, by masque-go: processor time for each GB of masque-go to that of Sheaf', 2.5, false],
  ]);
});

test('a steady download is compared with itself alone, and a full one with the flood of another proxy', () => {
  const run = (load: FloodPlan['load'], flooded: FloodPlan['flooded'], ...rates: number[]) => ({
    plan: { load, flooded },
    samples: rates.map((goodput_mbps) => ({ goodput_mbps })),
    failures: [],
  });
  const rows = floodRows([
    run('steady', 'none', 100),
    run('steady', 'other', 100),
    run('steady', 'same', 80, 85, 99),
    run('full', 'none', 1000),
    run('full', 'other', 600),
    run('full', 'same', 550),
  ]);
  expect(judgeFlood(rows).map(({ measured, holds }) => [measured, holds])).toEqual([
    [0.85, false],
    [0.9167, true],
  ]);
});
