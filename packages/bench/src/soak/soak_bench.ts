import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome } from '../experiment.js';
import { makeSite, startSheaf } from '../http/gateways.js';
import { describeMachine } from '../measure/machine.js';
import { fullLoadOptions, soakInFull } from './full_load.js';
import { residentMebibytes } from '../process/memory.js';
import { smallRequest, type Counts } from './requests.js';
import { FLAT_MIB, judgeMemory, type MemoryVerdict } from './verdict.js';

/** Requests on one connection before it is closed and another one opened */
const REQUESTS_PER_CONNECTION = 20;
/** Minimum share of the wanted rate. Below it, the load was not what the result claims. */
const REQUIRED_RATE = 0.95;

const optionsSchema = z.strictObject({
  seconds: z.coerce.number().min(10).default(600),
  rate: z.coerce.number().min(1).default(200),
  connections: z.coerce.number().int().min(1).default(10),
});
type Options = z.output<typeof optionsSchema>;

/**
 * Loads a gateway while connections come and go. Memory must stay flat, and no request may fail. The load is steady for
 * a time; with `requests` it is as much as the machine can do, with hostile clients among the others on demand.
 */
export const soakBench: Experiment = {
  name: 'soak',
  options: [...new Set([...Object.keys(optionsSchema.shape), ...Object.keys(fullLoadOptions.shape)])],
  async run(rawOptions, context) {
    if (['requests', 'hostile', 'seed'].some((name) => rawOptions[name] !== undefined))
      return soakInFull(fullLoadOptions.parse(rawOptions), context);
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
    const row = [
      report.requests,
      report.failed,
      report.connections,
      rate.achieved,
      memory_mib.settled,
      memory_mib.maximum,
      memory_mib.end,
    ].map(String);
    return {
      report,
      tables: [
        {
          head: [
            'requests',
            'failed',
            'connections',
            'requests/s',
            'MiB settled',
            'MiB at most after that',
            'MiB at the end',
          ],
          rows: [row],
          notes: report.failures,
        },
      ],
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
  /** Resident memory of the gateway in MiB, once a second */
  memory: readonly number[];
  seconds: number;
}

export interface SoakVerdict {
  rate: { wanted: number; achieved: number };
  memory_mib: MemoryVerdict;
  /** Problems; empty when the soak passed */
  problems: string[];
}

export function judgeSoak(
  { rate }: Pick<Options, 'rate'>,
  { requests, failures, memory, seconds }: SoakMeasured,
): SoakVerdict {
  const memoryMebibytes = judgeMemory(memory, FLAT_MIB);
  const achieved = Math.round((requests / seconds) * 10) / 10;
  const problems: string[] = [];
  if (failures.length > 0) problems.push(`${failures.length} requests failed`);
  if (achieved < rate * REQUIRED_RATE) problems.push(`${achieved} requests a second instead of ${rate}`);
  if (memoryMebibytes.growth > FLAT_MIB) problems.push(`memory grew by ${memoryMebibytes.growth} MiB`);
  return {
    rate: { wanted: rate, achieved },
    memory_mib: memoryMebibytes,
    problems,
  };
}

/** Returns the resident memory of the gateway in MiB, once a second. */
async function underLoad(
  gateway: { port: number; pid: number },
  options: Options,
  counts: Counts,
  progress: (line: string) => void,
): Promise<number[]> {
  const started = performance.now();
  const deadline = started + options.seconds * 1000;
  const workers = Array.from({ length: options.connections }, () =>
    keepRequesting(gateway.port, options.rate / options.connections, deadline, counts),
  );
  const memory: number[] = [];
  while (performance.now() < deadline) {
    await sleep(Math.min(1000, Math.max(1, deadline - performance.now())));
    memory.push(await residentMebibytes(gateway.pid));
    if (memory.length % 30 === 0)
      progress(
        `${memory.length} s: ${counts.requests} requests, ${counts.failures.length} failed, ${memory.at(-1)?.toFixed(0)} MiB`,
      );
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
        await smallRequest(client);
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
