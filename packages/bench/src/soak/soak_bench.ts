import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome } from '../experiment.js';
import { makeSite, startSheaf } from '../http/gateways.js';
import { describeMachine } from '../measure/machine.js';

/** Requests on one connection before it is closed and another one opened. */
const REQUESTS_PER_CONNECTION = 20;
/**
 * Caches and pools fill in the first fifth of the time; the peak of the next fifth is what later
 * ones are compared with. Peaks, since the garbage collector's saw-tooth has no other steady value.
 */
const SETTLED = { from: 0.2, to: 0.4 };
/** Growth of the gateway after that, at any time, that counts as flat. */
const FLAT_MIB = 16;
/** Part of the wanted rate that has to be reached: below it the load was not what the result claims. */
const REQUIRED_RATE = 0.95;

const optionsSchema = z.strictObject({
  seconds: z.coerce.number().min(10).default(600),
  rate: z.coerce.number().min(1).default(200),
  connections: z.coerce.number().int().min(1).default(10),
});
type Options = z.output<typeof optionsSchema>;

interface Counts {
  requests: number;
  connections: number;
  failures: string[];
}

/** A gateway under steady load while connections come and go: memory must stay flat and no request fail. */
export const soakBench: Experiment = {
  name: 'soak',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, context) {
    return soak(optionsSchema.parse(rawOptions), context);
  },
};

async function soak(options: Options, { progress }: ExperimentContext): Promise<Outcome> {
  const machine = describeMachine();
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-soak-'));
  const gateway = await startSheaf(await makeSite(directory, 1_000_000));
  try {
    const counts: Counts = { requests: 0, connections: 0, failures: [] };
    const started = performance.now();
    const memory = await underLoad(gateway, options, counts, progress);
    const verdict = judgeSoak(options, { ...counts, memory, seconds: (performance.now() - started) / 1000 });
    const { rate, memory_mib } = verdict;
    const report = {
      experiment: 'soak',
      machine,
      parameters: options,
      requests: counts.requests,
      failed: counts.failures.length,
      failures: counts.failures.slice(0, 10),
      connections: counts.connections,
      rate,
      memory_mib,
      ok: verdict.problems.length === 0,
      problems: verdict.problems,
    };
    const row = [report.requests, report.failed, report.connections, rate.achieved, memory_mib.settled, memory_mib.maximum, memory_mib.end].map(String);
    return {
      report,
      tables: [{ head: ['requests', 'failed', 'connections', 'requests/s', 'MiB settled', 'MiB at most after that', 'MiB at the end'], rows: [row], notes: report.failures }],
      ...(!report.ok && { failure: verdict.problems.join('; ') }),
    };
  } finally {
    await gateway.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

export interface SoakMeasured {
  requests: number;
  failures: readonly string[];
  /** Resident memory of the gateway in MiB, once a second. */
  memory: readonly number[];
  seconds: number;
}

export interface SoakVerdict {
  rate: { wanted: number; achieved: number };
  memory_mib: { settled: number; maximum: number; end: number; growth: number; allowed: number };
  /** Empty when the soak passed. */
  problems: string[];
}

/** Memory may not rise once it has settled: what is given back before the end counts as well. */
export function judgeSoak({ rate }: Pick<Options, 'rate'>, { requests, failures, memory, seconds }: SoakMeasured): SoakVerdict {
  const index = (part: number): number => Math.floor(memory.length * part);
  const settled = Math.max(0, ...memory.slice(index(SETTLED.from), index(SETTLED.to)));
  const maximum = Math.max(0, ...memory.slice(index(SETTLED.to)));
  const growth = Math.max(0, Math.round(maximum - settled));
  const achieved = Math.round((requests / seconds) * 10) / 10;
  const problems: string[] = [];
  if (failures.length > 0) problems.push(`${failures.length} requests failed`);
  if (achieved < rate * REQUIRED_RATE) problems.push(`${achieved} requests a second instead of ${rate}`);
  if (growth > FLAT_MIB) problems.push(`memory grew by ${growth} MiB`);
  return {
    rate: { wanted: rate, achieved },
    memory_mib: { settled: Math.round(settled), maximum: Math.round(maximum), end: Math.round(memory.at(-1) ?? 0), growth, allowed: FLAT_MIB },
    problems,
  };
}

/** Resident memory of the gateway in MiB, once a second. */
async function underLoad(gateway: { port: number; pid: number }, options: Options, counts: Counts, progress: (line: string) => void): Promise<number[]> {
  const started = performance.now();
  const deadline = started + options.seconds * 1000;
  const workers = Array.from({ length: options.connections }, () => keepRequesting(gateway.port, options.rate / options.connections, deadline, counts));
  const memory: number[] = [];
  while (performance.now() < deadline) {
    await sleep(Math.min(1000, Math.max(1, deadline - performance.now())));
    memory.push(await residentMebibytes(gateway.pid));
    if (memory.length % 30 === 0) progress(`${memory.length} s: ${counts.requests} requests, ${counts.failures.length} failed, ${memory.at(-1)?.toFixed(0)} MiB`);
  }
  await Promise.all(workers);
  return memory;
}

async function keepRequesting(port: number, rate: number, deadline: number, counts: Counts): Promise<void> {
  let next = performance.now();
  while (next < deadline) {
    let client: Http3Client | undefined;
    try {
      client = await connectHttp3({ alpn: ['h3'], host: '127.0.0.1', port, serverName: 'localhost', insecure: true });
      counts.connections += 1;
      for (let count = 0; count < REQUESTS_PER_CONNECTION && next < deadline; count += 1) {
        await request(client);
        counts.requests += 1;
        next += 1000 / rate;
        await sleep(Math.max(0, next - performance.now()));
      }
    } catch (error) {
      counts.failures.push(error instanceof Error ? error.message : String(error));
      next += 1000 / rate;
    } finally {
      await client?.close();
    }
  }
}

async function request(client: Http3Client): Promise<void> {
  const response = await client.request({ path: '/small' });
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) bytes += part.length;
  if (response.status !== 200 || bytes !== 1000) throw new Error(`status ${response.status} with ${bytes} bytes`);
}

async function residentMebibytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}
