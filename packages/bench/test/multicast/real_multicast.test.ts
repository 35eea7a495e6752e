import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
// Its compiled form: it starts programs of its own, which lie beside it.
import { runBench } from '@sheaf/bench';
import { expect, test } from 'vitest';
import { judgeMulticast } from '../../src/multicast/real/findings.js';
import { findRate } from '../../src/multicast/real/laboratory.js';
import { Lan } from '../../src/multicast/real/lan.js';
import type { Plan, Sample } from '../../src/multicast/real/plans.js';
import { multicastRows, multicastRowSchema } from '../../src/multicast/real/rows.js';

const missing = await Lan.missing();
if (missing !== undefined) console.warn(`skipped: multicast between hosts: ${missing}`);

async function bench(options: Record<string, unknown>): Promise<string> {
  const stdout = new PassThrough();
  const printed = text(stdout);
  await runBench('multicast', { real: true, json: true, ...options }, { stdout, stderr: new PassThrough() });
  stdout.end();
  return printed;
}

test.skipIf(missing !== undefined)(
  'a short run has a row for each sender, whose file arrived at every receiver',
  { timeout: 300_000 },
  async () => {
    // Where nothing loses packets, the report says so, and other rows are as always.
    const loss_percent = (await Lan.whyNoLoss()) === undefined ? 2 : 0;
    const options = { runs: '1', bytes: '300000', clients: '2', loss: String(loss_percent), rates: '20' };
    const { multicast, findings, skipped } = JSON.parse(await bench(options)) as {
      multicast: unknown[];
      findings: { claim: string; required: number; measured: number; holds: boolean }[];
      skipped: { what: string; reason: string }[];
    };
    const rows = multicast.map((row) => multicastRowSchema.parse(row));
    for (const arm of ['signed', 'plain', 'unicast', 'uftp', 'norm'] as const) {
      const found = rows.find((row) => row.arm === arm);
      // Where a program is missing, the report says so.
      const reason = skipped.find(({ what }) => what === arm)?.reason;
      if (reason === undefined)
        expect(found, `${arm}: ${JSON.stringify(skipped)}`).toMatchObject({ receivers: 2, loss_percent });
      else expect(reason).toContain('npm run setup');
    }
    for (const { receiver_cpu_s } of rows) expect(receiver_cpu_s).toBeGreaterThan(0);
    for (const arm of ['signed', 'plain', 'unicast'])
      expect(rows.find((row) => row.arm === arm)?.source_cpu_s).toBeGreaterThan(0);
    for (const { holds, measured, required } of findings) expect(holds).toBe(measured >= required);
  },
);

test('options that belong to other ways are refused', async () => {
  await expect(bench({ sim: true })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--real'),
  });
  await expect(bench({ cases: 'reports' })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--cases'),
  });
  await expect(bench({ rates: '2000' })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--rates'),
  });
});

const place = { receivers: 2, loss_percent: 0 };
const sampleOf = (seconds: number): Sample => ({ seconds, source_cpu_s: 0.1, receivers_cpu_s: 0.2, strayed: 0 });

/** A sender that is as fast as its rate up to a limit, and slower beyond */
const limited =
  (limit: number, tried: number[]) =>
  async ({ rate_mbps }: Plan): Promise<Sample> => {
    const rate = rate_mbps ?? 0;
    tried.push(rate);
    return sampleOf(rate <= limit ? 1000 / rate : 2000 / limit);
  };

test('a sender gets the rate at which it is fastest, and no higher one is tried than needed', async () => {
  const tried: number[] = [];
  const found = await findRate({ arm: 'norm', ...place }, [800, 100, 200, 400, 1600], limited(400, tried));
  expect(found).toEqual({ rate_mbps: 400 });
  expect(tried).toEqual([100, 200, 400, 800]);
});

test('a sender that fails beyond a rate gets that rate, and one that always fails none', async () => {
  const failing = async ({ rate_mbps }: Plan): Promise<Sample | { failed: string }> =>
    (rate_mbps ?? 0) > 100 ? { failed: 'too fast' } : sampleOf(1);
  expect(await findRate({ arm: 'uftp', ...place }, [100, 200], failing)).toEqual({ rate_mbps: 100 });
  expect(await findRate({ arm: 'uftp', ...place }, [200, 400], failing)).toEqual({ failed: 'too fast' });
});

test('a sender with congestion control is told no rate, and one rate is not tried', async () => {
  const never = (): Promise<Sample> => Promise.reject(new Error('there is nothing to find'));
  expect(await findRate({ arm: 'unicast', ...place }, [100, 200], never)).toEqual({ rate_mbps: null });
  expect(await findRate({ arm: 'norm', ...place }, [100], never)).toEqual({ rate_mbps: 100 });
});

test('rows have medians, what failed, and marks beside the faster of the others with authentication on both sides', () => {
  const measured = (arm: Plan['arm'], seconds: number[], failures: string[] = []) => ({
    plan: { arm, ...place, rate_mbps: arm === 'unicast' ? null : 100 },
    samples: seconds.map(sampleOf),
    failures,
  });
  const rows = multicastRows(
    [
      measured('signed', [1, 2, 3], ['late']),
      measured('plain', [1]),
      measured('unicast', [4]),
      measured('uftp', [6]),
      measured('norm', [1.5]),
      measured('norm', [], ['lost']),
    ],
    1_200_000,
  );
  // 9.6 Mbit in 2 s; 19.2 Mbit at both receivers for 0.3 s of the processor
  expect(rows[0]).toMatchObject({ arm: 'signed', goodput_mbps: 4.8, receiver_cpu_s: 0.1, runs: 3, failed: 1 });
  expect(rows[0]?.gbit_per_cpu_s).toBeCloseTo(0.0192 / 0.3, 4);
  expect(rows[0]?.to_unicast).toEqual({ goodput: 2, gbit_per_cpu_s: 1 });
  expect(rows).toHaveLength(5);
  const findings = judgeMulticast(rows).map(({ claim, measured: ratio, holds }) => [claim, ratio, holds]);
  expect(findings).toEqual([
    ['2 receivers, loss 0 %, with authentication on both sides: goodput', 3, true],
    ['2 receivers, loss 0 %, with authentication on both sides: goodput for each second of the processor', 1, false],
    ['2 receivers, loss 0 %, without authentication on both sides: goodput', 1.5, false],
    ['2 receivers, loss 0 %, without authentication on both sides: goodput for each second of the processor', 1, false],
  ]);
});
