import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
// Its compiled form: it starts programs of its own, which lie beside it.
import { runBench } from '@sheaf/bench';
import { expect, test } from 'vitest';
import { judgeTunnels } from '../../src/tunnels/real/findings.js';
import { ARM_NAMES, ARMS, type Plan, type Sample } from '../../src/tunnels/real/plans.js';
import { tunnelRows, tunnelRowSchema } from '../../src/tunnels/real/rows.js';

async function bench(options: Record<string, unknown>): Promise<string> {
  const stdout = new PassThrough();
  const printed = text(stdout);
  await runBench('tunnels', { real: true, json: true, ...options }, { stdout, stderr: new PassThrough() });
  stdout.end();
  return printed;
}

test(
  'a short run has a row for each proxy with each client, and one without a proxy',
  { timeout: 120_000 },
  async () => {
    const report = JSON.parse(await bench({ runs: '1', bytes: '400000', clients: '2' })) as {
      tunnels: unknown[];
      findings: { required: number; measured: number; holds: boolean }[];
      skipped: object[];
      versions: object;
    };
    expect(report.skipped).toEqual([]);
    expect(report.versions).toEqual({
      'masque-go': '0.4.0',
      'quic-go': expect.stringMatching(/^0\.\d+\.\d+$/) as string,
    });
    const rows = report.tunnels.map((row) => tunnelRowSchema.parse(row));
    expect(rows.map(({ arm }) => arm)).toEqual(ARM_NAMES);
    for (const row of rows) {
      const programs =
        row.proxy === 'none' ? [] : [row.proxy_cpu_s_per_gb, row.carrier_cpu_s_per_gb, row.proxy_rss_mib];
      expect(row).toMatchObject({ clients: 2, runs: 1, failed: 0, ...ARMS[row.arm] });
      for (const used of [row.server_cpu_s_per_gb, row.client_cpu_s_per_gb, ...programs])
        expect(used).toBeGreaterThan(0);
    }
    expect(report.findings).toHaveLength(4);
    for (const { holds, measured, required } of report.findings) expect(holds).toBe(measured >= required);
  },
);

test('options that belong to other ways are refused', async () => {
  await expect(bench({ sim: true })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--real'),
  });
  await expect(bench({ cells: 'figure-2' })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--cells'),
  });
  await expect(runBench('tunnels', {}, { stdout: new PassThrough(), stderr: new PassThrough() })).rejects.toMatchObject(
    {
      code: 'USAGE',
      message: expect.stringContaining('--real'),
    },
  );
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
  const measured = (arm: Plan['arm'], samples: Sample[], failures: string[] = []) => ({
    plan: { arm, clients: 1 },
    samples,
    failures,
  });
  const rows = tunnelRows(
    [
      measured('sheaf', [sample(1, 1), sample(2, 1), sample(9, 7)], ['late']),
      measured('masque-go', [sample(8, 2.5)]),
      measured('sheaf-by-sheaf', [sample(1, 1)]),
      measured('masque-go-by-sheaf', [], ['refused']),
      measured('direct', [sample(1, 0)]),
    ],
    500_000_000,
  );
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatchObject({
    goodput_mbps: 2000,
    proxy_cpu_s_per_gb: 2,
    carrier_cpu_s_per_gb: 4,
    runs: 3,
    failed: 1,
  });
  expect(judgeTunnels(rows).map(({ claim, measured: ratio, holds }) => [claim, ratio, holds])).toEqual([
    ['1 at once, by masque-go: goodput to that of masque-go', 4, true],
    ['1 at once, by masque-go: processor time for each GB of masque-go to that of Sheaf', 2.5, false],
  ]);
});
