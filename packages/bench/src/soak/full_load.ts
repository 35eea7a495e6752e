import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { z } from 'zod';
import type { ExperimentContext, Outcome } from '../experiment.js';
import { makeSite, startSheaf, type GatewayUnderTest } from '../http/gateways.js';
import { describeMachine } from '../measure/machine.js';
import { HostileClients } from './hostile_clients.js';
import { residentMebibytes } from '../process/memory.js';
import { smallRequest, type Counts } from './requests.js';
import { FLAT_MIB, judgeMemory } from './verdict.js';

/** Requests on one connection before it is closed and another one opened */
const REQUESTS_PER_CONNECTION = 200;
/** Requests in flight on each connection */
const IN_FLIGHT = 16;
/** Number of addresses of conforming clients, so that none reaches a limit per network */
const CLIENT_ADDRESSES = 250;
/** Memory that a few hostile clients may hold at any time, in addition to the growth that counts as flat */
const HOSTILE_MIB = 48;
/** Number of rows in the table of memory over time */
const ROWS = 20;

export const fullLoadOptions = z.strictObject({
  requests: z.coerce.number().int().min(1_000),
  connections: z.coerce.number().int().min(1).default(10),
  hostile: z
    .string()
    .regex(/^\d+(\.\d+)?%$/, 'a share of the clients such as 1%')
    .transform((text) => Number(text.slice(0, -1)) / 100)
    .refine((share) => share < 1, 'less than 100%')
    .default(0),
  seed: z.coerce
    .number()
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .optional(),
});
type Options = z.output<typeof fullLoadOptions>;

/** The gateway's memory after this many requests */
interface Sample {
  seconds: number;
  requests: number;
  mebibytes: number;
}

/** Makes the wanted number of requests as fast as possible. */
export async function soakInFull(options: Options, { progress }: ExperimentContext): Promise<Outcome> {
  const machine = describeMachine();
  const seed = options.seed ?? randomInt(2 ** 32);
  if (options.hostile > 0) progress(`seed ${seed}`);
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-soak-'));
  const gateway = await startSheaf(await makeSite(directory, 1_000_000));
  const hostile = options.hostile > 0 ? new HostileClients(gateway.port, seed) : undefined;
  try {
    const counts: Counts = { requests: 0, connections: 0, failures: [] };
    const samples = await underFullLoad(gateway, options, counts, hostile, progress);
    await hostile?.finished();
    return outcome(options, seed, machine, counts, samples, hostile);
  } finally {
    hostile?.stop();
    await gateway.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function underFullLoad(
  gateway: GatewayUnderTest,
  options: Options,
  counts: Counts,
  hostile: HostileClients | undefined,
  progress: (line: string) => void,
): Promise<Sample[]> {
  const started = performance.now();
  const samples: Sample[] = [];
  let working = true;
  const watch = (async (): Promise<void> => {
    while (working) {
      const sample = {
        seconds: Math.round((performance.now() - started) / 1000),
        requests: counts.requests,
        mebibytes: await residentMebibytes(gateway.pid),
      };
      samples.push(sample);
      if (samples.length % 30 === 0)
        progress(
          `${sample.seconds} s: ${sample.requests} requests, ${counts.failures.length} failed, ${sample.mebibytes.toFixed(0)} MiB`,
        );
      await sleep(1_000);
    }
  })();
  const load = new Load(gateway.port, options, counts, hostile);
  await Promise.all(Array.from({ length: options.connections }, () => load.run()));
  working = false;
  await watch;
  return samples;
}

/** Runs conforming clients, and hostile ones in their proportion. */
class Load {
  private begun = 0;
  private clients = 0;

  constructor(
    private readonly port: number,
    private readonly options: Options,
    private readonly counts: Counts,
    private readonly hostile: HostileClients | undefined,
  ) {}

  /** Runs one client after the other, until all requests have been made. */
  async run(): Promise<void> {
    while (this.begun < this.options.requests) {
      this.clients += 1;
      const { hostile } = this.options;
      // Number of hostile clients for this many conforming ones
      const wanted = Math.floor((this.clients / (1 - hostile)) * hostile);
      if (this.hostile && this.hostile.begun < wanted) this.hostile.begin();
      await this.client().catch((error: unknown) =>
        this.counts.failures.push(error instanceof Error ? error.message : String(error)),
      );
    }
  }

  private async client(): Promise<void> {
    const localAddress = `127.0.1.${1 + (this.clients % CLIENT_ADDRESSES)}`;
    const connection = await connectHttp3({
      alpn: ['h3'],
      host: '127.0.0.1',
      port: this.port,
      localAddress,
      serverName: 'localhost',
      insecure: true,
    });
    this.counts.connections += 1;
    let left = REQUESTS_PER_CONNECTION;
    const ask = async (): Promise<void> => {
      while (left > 0 && this.begun < this.options.requests) {
        left -= 1;
        await this.request(connection);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, ask));
    await connection.close();
  }

  private async request(connection: Http3Client): Promise<void> {
    this.begun += 1;
    try {
      await smallRequest(connection);
      this.counts.requests += 1;
    } catch (error) {
      this.counts.failures.push(error instanceof Error ? error.message : String(error));
    }
  }
}

function outcome(
  options: Options,
  seed: number,
  machine: ReturnType<typeof describeMachine>,
  counts: Counts,
  samples: readonly Sample[],
  hostile: HostileClients | undefined,
): Outcome {
  const memory = judgeMemory(
    samples.map(({ mebibytes }) => mebibytes),
    FLAT_MIB + (hostile ? HOSTILE_MIB : 0),
  );
  const seconds = samples.at(-1)?.seconds ?? 0;
  const rate = Math.round(counts.requests / Math.max(1, seconds));
  const problems: string[] = [];
  if (counts.failures.length > 0) problems.push(`${counts.failures.length} requests failed`);
  if (counts.requests + counts.failures.length < options.requests)
    problems.push(`${counts.requests} requests instead of ${options.requests}`);
  if (memory.growth > memory.allowed) problems.push(`memory grew by ${memory.growth} MiB`);
  if (hostile && hostile.done < hostile.begun)
    problems.push(`${hostile.begun - hostile.done} hostile clients were not heard of again`);
  const over = samples.filter(
    (_, index) => index % Math.ceil(samples.length / ROWS) === 0 || index === samples.length - 1,
  );
  const report = {
    experiment: 'soak',
    machine,
    parameters: { ...options, ...(hostile && { seed }) },
    requests: counts.requests,
    failed: counts.failures.length,
    failures: counts.failures.slice(0, 10),
    connections: counts.connections,
    seconds,
    rate,
    memory_mib: memory,
    memory: over,
    hostile: hostile?.report() ?? {},
    ok: problems.length === 0,
    problems,
  };
  const row = [
    report.requests,
    report.failed,
    report.connections,
    rate,
    memory.settled,
    memory.maximum,
    memory.end,
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
      {
        head: ['seconds', 'requests', 'MiB'],
        rows: over.map((sample) => [sample.seconds, sample.requests, sample.mebibytes.toFixed(0)].map(String)),
        notes: [],
      },
      ...(hostile
        ? [
            {
              head: ['hostile clients', 'number'],
              rows: Object.entries(hostile.report()).map(([name, count]) => [name, String(count)]),
              notes: [`seed ${seed}`],
            },
          ]
        : []),
    ],
    ...(!report.ok && { failure: problems.join('; ') }),
  };
}
