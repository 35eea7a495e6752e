import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { Counter, Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UserError } from '../../src/errors/user_error.js';
import { areSiblings, newRun } from '../../src/multi_end/backbone/run.js';
import { receiveError, sendError } from '../../src/workers/sent_error.js';
import { MergedMetrics } from '../../src/workers/merged_metrics.js';
import type { CountedMetric, SentConfiguration, WorkerStart } from '../../src/workers/messages.js';
import { meanOf, sumOf } from '../../src/workers/sums.js';
import { WorkerPool } from '../../src/workers/worker_pool.js';
import { WorkerThread } from '../../src/workers/worker_thread.js';
import { workerTimes } from '../../src/workers/worker_times.js';
import { shareOf } from '../../src/workers/worker_share.js';
import { parseGateway } from '../support/configuration.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

it('a worker has its share of what workers do not count together, and all of what one client may have', () => {
  const loaded = parseGateway(
    `listen: 127.0.0.1:4433
admin: 127.0.0.1:9433
workers: 3
limits: { connections: 100, memory: 60MiB, slow_responses: 3, connection_memory: 4MiB }
routes:
  - { path: /api, upstream: { to: "http://127.0.0.1:3000", connections: 10, queue: 0 } }
  - connect: { allow: ["*"], clients: 127.0.0.0/8, tunnels: 10, tunnels_per_user: 5 }
`,
    '/site/sheaf.yaml',
  );
  const { node } = shareOf(loaded, 3);
  expect(node.limits).toMatchObject({
    connections: 100,
    connections_per_network: 1_000,
    half_open_handshakes: 2_000,
    handshakes_per_second: 500,
    memory: 20 * 2 ** 20,
    connection_memory: 4 * 2 ** 20,
    slow_responses: 2,
    streams: loaded.node.limits.streams,
    drain: loaded.node.limits.drain,
  });
  expect(node.routes[0]?.upstream).toMatchObject({ connections: 4, queue: 0 });
  expect(node.routes[1]?.connect).toMatchObject({ tunnels: 10, tunnels_per_user: 5 });
  expect(node.admin).toBeUndefined();
  // Another worker gets the same of the same.
  expect(loaded.node.limits.memory).toBe(60 * 2 ** 20);
  expect(shareOf(loaded, 64).node.limits.memory).toBe(4 * 2 ** 20);
});

it('counts add up, also in records, and the rest is as the first says', () => {
  const sum = sumOf<object>([
    { requests: 1, hits: { memory: 2 }, alpn: ['h3'], state: 'open' },
    { requests: 3, hits: { memory: 5, idle: 1 }, alpn: ['h3'], state: 'closed' },
  ]);
  expect(sum).toEqual({ requests: 4, hits: { memory: 7, idle: 1 }, alpn: ['h3'], state: 'open' });
  expect([meanOf([1, undefined, 3]), meanOf([undefined])]).toEqual([2, undefined]);
});

it('an error arrives in another thread with all that people need', () => {
  const error = receiveError(sendError(new UserError('PORT_TAKEN', 'taken', { hint: 'another', place: 'line 1' })));
  expect(error).toBeInstanceOf(UserError);
  expect(error).toMatchObject({ code: 'PORT_TAKEN', message: 'taken', hint: 'another', place: 'line 1', exitCode: 3 });
  const fault = new TypeError('a fault');
  expect(receiveError(sendError(fault))).toMatchObject({ message: 'a fault', stack: fault.stack });
});

it('runs of workers of a process know each other', () => {
  const process = Buffer.from('abcdef');
  const [first, again, second] = [0, 0, 1].map((index) => newRun({ process, index }).toString('hex')) as [
    string,
    string,
    string,
  ];
  expect(areSiblings(first, second)).toBe(true);
  // The successor of a worker stands in its place.
  expect(areSiblings(first, again)).toBe(false);
  expect(first).not.toBe(again);
  expect(areSiblings(first, newRun({ process: Buffer.from('ghijkl'), index: 1 }).toString('hex'))).toBe(false);
  expect(areSiblings(newRun().toString('hex'), newRun().toString('hex'))).toBe(false);
});

/** A pool of two workers, of which the first thread of number 1 runs `code` for calls. Others answer all calls. */
async function poolOf(code: string) {
  const entry = join(await temporaryDirectory(), 'worker.mjs');
  await writeFile(
    entry,
    `import { parentPort, workerData } from 'node:worker_threads';
parentPort.on('message', ({ call, id }) => {
  if (workerData.faulty) { ${code} }
  parentPort.postMessage({ id, returned: [] });
});
parentPort.postMessage({ news: 'serving', warnings: [] });
`,
  );
  let opened = 0;
  const pool = new WorkerPool({
    workers: 2,
    open: (index) => {
      const faulty = index === 1 && (opened += 1) === 1;
      const start = { name: 'test', index, faulty } as unknown as WorkerStart;
      return new WorkerThread({ entry: pathToFileURL(entry), start, onLog: () => undefined });
    },
    log: pino({ level: 'silent' }),
    times: { ...workerTimes, change: 300, close: 100, beat: 50, misses: 20 },
  });
  onTestFinished(() => pool.stop(0));
  await pool.start();
  return pool;
}

const configuration = {} as SentConfiguration;

it('a worker that hangs is replaced, and blocks neither a change nor a stop', async () => {
  const pool = await poolOf("if (call === 'prepare') for (;;);");
  await expect(pool.prepare(() => configuration)).rejects.toMatchObject({ code: 'RELOAD_REFUSED' });
  await expect.poll(() => [pool.watchdog, pool.restarts, pool.serving.length]).toEqual([1, 1, 2]);
  expect(pool.status([])[1]).toMatchObject({ restarts: 1, reason: 'the worker did not answer for 1 seconds' });
  (await pool.prepare(() => configuration)).commit();
  await pool.settled();
});

it('a worker that hangs as it stops is ended', async () => {
  const pool = await poolOf("if (call === 'close') for (;;);");
  await pool.stop(0);
  expect(pool.status([]).map(({ state }) => state)).toEqual(['stopped', 'stopped']);
});

it('a worker that cannot change to what it was ready for has a successor', async () => {
  const fault = "{ error: { name: 'Error', message: 'no', stack: '' } }";
  const pool = await poolOf(`if (call === 'commit') return parentPort.postMessage({ id, ...${fault} });`);
  (await pool.prepare(() => configuration)).commit();
  await pool.settled();
  await expect.poll(() => [pool.restarts, pool.serving.length]).toEqual([1, 2]);
  expect(pool.watchdog).toBe(0);
});

describe('counts of workers that have ended', () => {
  const merged = (): MergedMetrics =>
    new MergedMetrics({
      restarts: () => 0,
      watchdog: () => 0,
      datagrams: () => [],
      forwarded: () => undefined,
    });
  const counted = async (): Promise<CountedMetric[]> => {
    const registry = new Registry();
    new Counter({ name: 'requests_total', help: 'x', registers: [registry] }).inc(3);
    return await registry.getMetricsAsJSON();
  };

  it('are all kept when they end at the same moment', async () => {
    const metrics = merged();
    const counts = await counted();
    await Promise.all([1, 2, 3].map(() => metrics.retire(counts)));
    expect(await metrics.page([])).toContain('requests_total 9');
  });

  it('are kept after those that nobody can add', async () => {
    const metrics = merged();
    const counts = await counted();
    const wrong = counts.map((each) => ({ ...each, aggregator: 'nonsense' })) as unknown as CountedMetric[];
    await expect(metrics.retire(wrong)).rejects.toThrow('nonsense');
    await metrics.retire(counts);
    await metrics.retire(counts);
    expect(await metrics.page([])).toContain('requests_total 6');
  });
});
