import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { compare, missedMark, type EngineResult } from '../src/engine/engine_bench.js';
import { buildPeers } from '../src/engine/subjects.js';
import { isRecentGo } from '../src/http/caddy.js';
import { missedMark as missedHttpMark } from '../src/http/http_bench.js';
import { isRecentCargo } from '../src/process/toolchain.js';
import { runBench } from '../src/run_bench.js';
import { summarizeSchedulers } from '../src/schedulers/schedulers_bench.js';
import { judgeSoak } from '../src/soak/soak_bench.js';

afterEach(() => void vi.unstubAllEnvs());

const world = () => ({ stdout: new PassThrough(), stderr: new PassThrough() });

test('an unknown experiment is refused with the ones there are', async () => {
  await expect(runBench('engin', {}, world())).rejects.toMatchObject({
    code: 'BENCH_UNKNOWN',
    hint: expect.stringContaining("'engine'"),
  });
});

test('an option that is no number is refused by its name', async () => {
  await expect(runBench('engine', { runs: 'many' }, world())).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--runs'),
  });
});

test('an option that the experiment does not have is refused with the one that was meant', async () => {
  await expect(runBench('engine', { rusn: '3' }, world())).rejects.toMatchObject({
    code: 'USAGE',
    message: 'unknown option --rusn of `bench engine`',
    hint: 'did you mean --runs?',
  });
  await expect(runBench('soak', { peers: true }, world())).rejects.toMatchObject({
    code: 'USAGE',
    hint: expect.stringContaining('--seconds, --rate, --connections'),
  });
});

test('a machine without cargo is told what is missing and how to install it', async () => {
  vi.stubEnv('PATH', '/nonexistent');
  await expect(runBench('http', {}, world())).rejects.toMatchObject({
    code: 'BENCH_UNAVAILABLE',
    message: expect.stringContaining('cargo'),
    hint: expect.stringContaining('apt-get install cargo-web'),
  });
  await expect(runBench('engine', {}, world())).rejects.toMatchObject({
    code: 'BENCH_UNAVAILABLE',
    hint: expect.stringContaining('apt-get install cmake'),
  });
  await expect(runBench('paths', { real: true }, world())).rejects.toMatchObject({
    code: 'BENCH_UNAVAILABLE',
    message: expect.stringContaining('Rust 1.88'),
  });
});

test('peers without their tools are skipped with the reason, and so are those that do not build', async () => {
  const progress: string[] = [];
  const broken = { libraries: ['broken'], tools: [], build: () => Promise.reject(new Error('no compiler')) };
  const { subjects, skipped } = await buildPeers((line) => progress.push(line), [broken]);
  expect(subjects).toEqual([]);
  expect(skipped).toEqual([{ library: 'broken', reason: 'it does not build: no compiler' }]);
  vi.stubEnv('PATH', '/nonexistent');
  const all = await buildPeers((line) => progress.push(line));
  expect(all.skipped.map(({ library }) => library)).toEqual(['ngtcp2', 'quiche', 'quinn-proto']);
  expect(all.skipped[0]?.reason).toContain('libngtcp2-dev');
  expect(all.skipped[1]?.reason).toContain('cargo');
  expect(progress.join()).toContain('skipping quiche and quinn-proto');
});

test('the paths that are to be measured have to be named', async () => {
  await expect(runBench('paths', {}, world())).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--real'),
  });
});

test('a run that must show the comparison says what it lacks', () => {
  const ratio = { generation: 1.6, processing: 1.49, best: { generation: 'a', processing: 'b' }, required: 1.5 };
  expect(missedMark({ ...ratio, met: false })).toBe(
    "generation is 1.6 and processing 1.49 times the best peer's, not 1.5 times",
  );
  expect(missedMark({ ...ratio, met: true })).toBeUndefined();
  expect(missedMark(undefined)).toContain('--peers');
  const http = (own: number, failed: number, caddy = 1_000) =>
    missedHttpMark([
      { gateway: 'sheaf', requests_per_second: own, failed_requests: failed },
      { gateway: 'caddy', requests_per_second: caddy, failed_requests: 3 },
    ]);
  expect(http(1_500, 0)).toBeUndefined();
  expect(http(1_490, 0)).toBe("requests per second are 1.49 times Caddy's, not 1.5 times");
  expect(http(1_500, 1)).toBe('1 requests failed');
  expect(missedHttpMark([{ gateway: 'sheaf', requests_per_second: 1, failed_requests: 0 }])).toBe(
    'Caddy was not measured',
  );
});

test('Caddy is built with a Go that fetches newer ones by itself', () => {
  expect(isRecentGo('go version go1.26.8 linux/amd64')).toBe(true);
  expect(isRecentGo('go version go1.21.0 linux/amd64')).toBe(true);
  expect(isRecentGo('go version go1.19.8 linux/amd64')).toBe(false);
  expect(isRecentGo(undefined)).toBe(false);
});

test('an old cargo does not count', () => {
  expect(isRecentCargo('cargo 1.78.0', [1, 88])).toBe(false);
  expect(isRecentCargo('cargo 1.65.0')).toBe(false);
  expect(isRecentCargo('cargo 1.78.0 (54d8815d0 2024-03-26)')).toBe(true);
  expect(isRecentCargo(undefined)).toBe(false);
});

test('the cost of schedulers is the median of the runs, and judged where there are most streams', () => {
  const cell = (scheduler: string, streams: number, packet_ns: number) => ({
    scheduler,
    tree: 'flat',
    streams,
    packet_ns,
    p95_ns: 2 * packet_ns,
  });
  const output = (nanoseconds: number) => ({
    packets: 1000,
    paths: 4,
    cells: [cell('rr', 10, 900), cell('rr', 1000, 50), cell('wrr', 1000, nanoseconds)],
  });
  const machine = { processor: 'p', cores: 2, memory_gib: 8, kernel: 'k', node: 'v20', load: 0 };
  const report = summarizeSchedulers([output(200), output(299), output(800)], machine);
  expect(report.worst).toEqual({
    scheduler: 'wrr',
    tree: 'flat',
    streams: 1000,
    packet_ns: 299,
    spread_ns: [249.5, 549.5],
    p95_ns: 598,
  });
  expect(report).toMatchObject({ met: true, parameters: { runs: 3, packets: 1000, paths: 4 } });
  expect(summarizeSchedulers([output(300)], machine)).toMatchObject({ met: false });
});

describe('the ratio', () => {
  const result = (library: string, generation: number, processing: number): EngineResult => ({
    library,
    version: '1',
    generation_gbps: generation,
    processing_gbps: processing,
    server_ack_us_per_1k: 1,
    client_ack_us_per_1k: 1,
    stream_write_gbps: null,
    runs: 1,
    spread: { generation_gbps: [1, 1], processing_gbps: [1, 1], server_ack_us_per_1k: [1, 1] },
  });

  test('is taken over the peer that is best at each side', () => {
    expect(compare([result('sheaf', 30, 30), result('a', 20, 10), result('b', 10, 15)])).toEqual({
      generation: 1.5,
      processing: 2,
      best: { generation: 'a', processing: 'b' },
      required: 1.5,
      met: true,
    });
    expect(compare([result('sheaf', 29.9, 30), result('a', 20, 10)])).toMatchObject({ met: false });
  });

  test('is absent without a peer, and Sheaf through Endpoint is none', () => {
    expect(compare([result('sheaf', 30, 30), result('sheaf, through Endpoint', 20, 20)])).toBeUndefined();
  });
});

describe('a soak with a number of requests', () => {
  test('knows its options', async () => {
    await expect(runBench('soak', { hostile: '1%' }, world())).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('--requests'),
    });
    await expect(runBench('soak', { requests: 1_000, hostile: 'many' }, world())).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('a share of the clients such as 1%'),
    });
    await expect(runBench('soak', { requests: 1_000, hostile: '100%' }, world())).rejects.toMatchObject({
      code: 'USAGE',
    });
  });
});

describe('a soak', () => {
  const flat = Array.from({ length: 100 }, () => 100);
  const measured = { requests: 2_000, failures: [], memory: flat, seconds: 10 };

  test('passes at the wanted rate with flat memory', () => {
    expect(judgeSoak({ rate: 200 }, measured)).toMatchObject({ rate: { achieved: 200 }, problems: [] });
  });

  test('fails when memory grew on the way, even when it was given back', () => {
    const peak = flat.map((value, index) => (index === 60 ? 150 : value));
    expect(judgeSoak({ rate: 200 }, { ...measured, memory: peak })).toMatchObject({
      memory_mib: { maximum: 150, growth: 50, end: 100 },
      problems: ['memory grew by 50 MiB'],
    });
    const early = flat.map((value, index) => (index < 10 ? 300 : value));
    expect(judgeSoak({ rate: 200 }, { ...measured, memory: early }).problems).toEqual([]);
  });

  test('fails when the load was not reached, or a request failed', () => {
    expect(judgeSoak({ rate: 300 }, measured).problems).toEqual(['200 requests a second instead of 300']);
    expect(judgeSoak({ rate: 200 }, { ...measured, failures: ['x'] }).problems).toEqual(['1 requests failed']);
  });
});
