import { PassThrough } from 'node:stream';
// Its compiled form: it starts programs of its own, which lie beside it.
import { runBench } from '@sheaf/bench';
import { describe, expect, test } from 'vitest';
import { judgeRealBackends } from '../../src/multi_end/real/findings.js';
import { finerProcessorSeconds, processorSeconds } from '../../src/process/processor_time.js';
import type { CpuCell, RealBackends } from '../../src/multi_end/real/real_backends.js';
import { realTables } from '../../src/multi_end/real/tables.js';

const cell = (more: Partial<CpuCell>): CpuCell => ({
  delivery: 'direct',
  backends: 1,
  primary_cpu_s: 0.1,
  backends_cpu_s: 1.5,
  wall_s: 2,
  connecting_cpu_s: 0.05,
  backends_share: 0.99,
  quartiles: { primary_cpu_s: [0.1, 0.2], backends_cpu_s: [1.4, 1.6], wall_s: [2, 2] },
  runs: 3,
  ...more,
});
const proxy = cell({
  delivery: 'proxy',
  primary_cpu_s: 1,
  backends_cpu_s: 1,
  connecting_cpu_s: 0.02,
  backends_share: 0,
});

describe('the findings', () => {
  test('compare with the proxy of as many backends', () => {
    const findings = judgeRealBackends({
      cpu: [
        cell({}),
        proxy,
        cell({ backends: 3, primary_cpu_s: 0.3 }),
        cell({ ...proxy, backends: 3, primary_cpu_s: 3 }),
      ],
      uploads: [cell({}), proxy],
    });
    expect(findings).toHaveLength(9);
    expect(findings.filter(({ holds }) => !holds)).toEqual([]);
    expect(findings[0]).toMatchObject({
      claim: expect.stringContaining('downloads, 1 backend:'),
      why: expect.stringContaining('10 %: 0.1 s instead of 1 s'),
    });
  });

  test('say what does not hold, and why', () => {
    const direct = cell({ primary_cpu_s: 0.11, backends_cpu_s: 1.89, backends_share: 0.9 });
    const findings = judgeRealBackends({ cpu: [], uploads: [direct, proxy] });
    expect(findings.map(({ holds }) => holds)).toEqual([false, false, false]);
    expect(findings.map(({ why }) => why)).toEqual([
      expect.stringContaining('0.05 s instead of 0.02 s to connect'),
      expect.stringContaining('2 s instead of 2 s'),
      '90 %',
    ]);
  });

  test('are a page of text, with Caddy when it is there', () => {
    const measured: RealBackends = {
      cpu: [cell({}), proxy, cell({ delivery: 'caddy', primary_cpu_s: 2, backends_cpu_s: 1 })],
      uploads: [],
      skipped: [],
    };
    const [downloads, , findings] = realTables(measured, judgeRealBackends(measured));
    expect(downloads?.rows.map((row) => row[3])).toEqual(['10 %', '100 %', '200 %']);
    expect(findings?.rows.map((row) => row[1])).toEqual(['holds', 'holds', 'holds']);
    const { rows, notes } = realTables(
      { ...measured, skipped: [{ delivery: 'caddy', reason: 'not installed' }] },
      [],
    )[0]!;
    expect(rows).toHaveLength(3);
    expect(notes).toEqual(['skipped caddy: not installed']);
  });
});

test('processor time of a process is what it says of itself', () => {
  const own = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  const before = own();
  const seconds = processorSeconds([process.pid]);
  // Both are rounded to ticks of 10 ms.
  expect(seconds).toBeGreaterThan(before - 0.03);
  expect(seconds).toBeLessThan(own() + 0.03);
  expect(seconds).toBeGreaterThan(0);
});

test('finer processor time grows with work, and is about the same', () => {
  const before = finerProcessorSeconds([process.pid]);
  while (finerProcessorSeconds([process.pid]) < before + 0.001);
  // Threads that have ended are left out.
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(processorSeconds([process.pid]) + 0.05);
});

test('it has to be asked for', async () => {
  await expect(
    runBench('multi-end', {}, { stdout: new PassThrough(), stderr: new PassThrough() }),
  ).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('--real') });
});

test('processes on loopback: direct bytes go to the backends, proxied ones do not', async () => {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  // With so little to do, connecting is most of the work: the findings need not hold.
  await runBench(
    'multi-end',
    { json: true, real: true, runs: '1', clients: '1', requests: '3', bytes: '50000', backends: '2' },
    { stdout, stderr },
  ).catch((error: unknown) =>
    expect(error).toMatchObject({ code: 'BENCH_FAILED', message: expect.stringContaining('requirements are missed') }),
  );
  const report = JSON.parse(String(stdout.read())) as RealBackends;
  const deliveries = report.skipped.length > 0 ? ['direct', 'proxy'] : ['direct', 'proxy', 'caddy'];
  if (report.skipped.length > 0) console.log(`without Caddy: ${report.skipped[0]?.reason}`);
  for (const cells of [report.cpu, report.uploads]) {
    expect(cells.map(({ backends, delivery }) => [backends, delivery])).toEqual(
      deliveries.map((delivery) => [2, delivery]),
    );
    for (const { delivery, backends_share, primary_cpu_s, backends_cpu_s, wall_s, runs } of cells) {
      if (delivery === 'direct') expect(backends_share).toBeGreaterThan(0.9);
      else expect(backends_share).toBe(0);
      expect(primary_cpu_s).toBeGreaterThanOrEqual(0);
      expect(backends_cpu_s).toBeGreaterThanOrEqual(0);
      expect(wall_s).toBeGreaterThan(0);
      expect(runs).toBe(1);
    }
  }
  expect(String(stderr.read())).toContain(`${deliveries.length * 4} of ${deliveries.length * 4}`);
}, 900_000);
