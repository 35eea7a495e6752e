import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { z } from 'zod';
import type { Experiment, Outcome } from '../experiment.js';
import { makeSite } from '../http/gateways.js';
import { describeMachine } from '../measure/machine.js';
import { median, round } from '../measure/statistics.js';
import { freePort } from '@sheaf/gateway/client';
import { firstOutput, stop } from '../process/service.js';
import { residentMebibytes } from '../process/memory.js';
import { smallRequest } from '../soak/requests.js';
import { behaviours, protocols, type Behaviour, type Protocol } from './greedy_clients.js';

const fileBytes = 3_000_000;
/** Required bounds, in MB and as a ratio */
const mostOfOne = 24;
const mostOfMany = 256;
const mostTimes = 2;
/** Number of requests of the other client whose median is one measurement */
const requestsMeasured = 41;

const list = <T extends string>(all: readonly [T, ...T[]]) =>
  z
    .string()
    .default(all.join())
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(all)).min(1));

const optionsSchema = z.strictObject({
  /** Numbers of greedy clients, each of which is measured */
  clients: z
    .string()
    .default('1')
    .transform((text) => text.split(','))
    .pipe(z.array(z.coerce.number<string>().int().min(1)).min(1)),
  requests: z.coerce.number().int().min(1).default(1_000),
  runs: z.coerce.number().int().min(1).default(5),
  protocols: list(protocols),
  cases: list(behaviours),
});
type Options = z.output<typeof optionsSchema>;

interface Result {
  clients: number;
  protocol: Protocol;
  behaviour: Behaviour;
  /** Connections of each client for its requests */
  connections: number;
  /** Growth of the gateway's process, in MB */
  growth_mb: number;
  /** Time of another client's request, in milliseconds */
  idle_ms: number;
  greedy_ms: number;
  ratio: number;
}

/** Measures what greedy clients cost a gateway that has just started, and its other clients. */
export const greedyBench: Experiment = {
  name: 'greedy',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, { progress }) {
    const options = optionsSchema.parse(rawOptions);
    const machine = describeMachine();
    const results: Result[] = [];
    for (const clients of options.clients) {
      for (const protocol of options.protocols) {
        for (const behaviour of options.cases) {
          const result = await measure(options, clients, protocol, behaviour);
          progress(`${clients} × ${protocol} ${behaviour}: ${result.growth_mb} MB, ${result.ratio} times as long`);
          results.push(result);
        }
      }
    }
    return summarize(options, machine, results);
  },
};

async function measure(options: Options, count: number, protocol: Protocol, behaviour: Behaviour): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-greedy-'));
  const upstream = await startUpstream();
  const gateway = await startGateway(directory, (upstream.address() as AddressInfo).port);
  const other = await connect(gateway.port);
  try {
    await smallRequest(other);
    const before = await residentMebibytes(gateway.pid);
    let highest = before;
    const idle: number[] = [];
    const greedy: number[] = [];
    let connections = 0;
    for (let run = 0; run < options.runs; run++) {
      if (run > 0) idle.push(await timeOfSmallRequests(other));
      const clients = startClients([protocol, behaviour, gateway.port, options.requests, count]);
      connections = Number(await firstOutput(clients, 'greedy clients'));
      highest = Math.max(highest, await highestMemory(gateway.pid));
      greedy.push(await timeOfSmallRequests(other));
      highest = Math.max(highest, await residentMebibytes(gateway.pid));
      await stop(clients);
      await sleep(2_000);
    }
    idle.push(await timeOfSmallRequests(other));
    const [idleMs, greedyMs] = [median(idle), median(greedy)];
    return {
      clients: count,
      protocol,
      behaviour,
      connections,
      growth_mb: round((highest - before) * 1.048576, 3),
      idle_ms: round(idleMs, 3),
      greedy_ms: round(greedyMs, 3),
      ratio: round(greedyMs / idleMs, 3),
    };
  } finally {
    await other.close().catch(() => undefined);
    await stop(gateway.child);
    upstream.close();
    upstream.closeAllConnections();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Starts an upstream that answers 3 MB, and never answers a POST. */
async function startUpstream(): Promise<Server> {
  const server = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
    request.on('error', () => undefined).resume();
    if (request.method === 'GET') response.end(Buffer.alloc(fileBytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function startGateway(directory: string, upstreamPort: number) {
  const { files } = await makeSite(directory, fileBytes);
  const port = await freePort();
  const configuration = join(directory, 'sheaf.yaml');
  await writeFile(
    configuration,
    `listen: 127.0.0.1:${port}\ntls: dev\nlog: { level: warn, access: false }\nroutes:\n  - { path: /up, upstream: "http://127.0.0.1:${upstreamPort}" }\n  - { path: /, files: ${JSON.stringify(files)} }\n`,
  );
  const child = spawn(process.execPath, [join(import.meta.dirname, '../http/sheaf_process.js'), configuration], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await firstOutput(child, 'sheaf');
  return { child, port, pid: child.pid ?? 0 };
}

/** Starts a process that writes how many connections each client has, once all are there. */
function startClients(options: readonly (string | number)[]): ChildProcess {
  return spawn(process.execPath, [join(import.meta.dirname, 'greedy_process.js'), ...options.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function connect(port: number): Promise<Http3Client> {
  return connectHttp3({
    alpn: ['h3'],
    host: '127.0.0.1',
    port,
    serverName: 'localhost',
    insecure: true,
    keepAliveMs: 5_000,
    connectTimeoutMs: 60_000,
  });
}

/** Returns the peak memory in MiB, once it has not grown for two seconds. */
async function highestMemory(pid: number): Promise<number> {
  let most = 0;
  for (let calm = 0; calm < 20; calm++) {
    const now = await residentMebibytes(pid);
    if (now > most + 0.25) calm = 0;
    most = Math.max(most, now);
    await sleep(100);
  }
  return most;
}

async function timeOfSmallRequests(client: Http3Client): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < requestsMeasured; i++) {
    const begun = performance.now();
    await smallRequest(client);
    times.push(performance.now() - begun);
  }
  return median(times);
}

/** Returns the bounds that `result` exceeds; empty when it holds all. */
function missedBy({ clients, growth_mb, ratio }: Result): string[] {
  const most = markOf(clients);
  return [
    ...(growth_mb > most ? [`the gateway grew by ${growth_mb} MB, not at most ${most}`] : []),
    ...(ratio >= mostTimes ? [`requests of others take ${ratio} times as long, not less than ${mostTimes}`] : []),
  ];
}

function markOf(clients: number): number {
  return clients === 1 ? mostOfOne : mostOfMany;
}

function summarize(options: Options, machine: unknown, results: readonly Result[]): Outcome {
  const missed = results.flatMap((result) =>
    missedBy(result).map((what) => `${result.clients} × ${result.protocol} ${result.behaviour}: ${what}`),
  );
  return {
    report: { experiment: 'greedy', machine, parameters: options, results } as Outcome['report'],
    tables: [
      {
        head: ['clients', 'protocol', 'case', 'connections', 'MB', 'ms idle', 'ms greedy', 'ratio', 'mark', ''],
        rows: results.map((result) => [
          ...Object.values(result).map(String),
          `${markOf(result.clients)} MB, ${mostTimes}`,
          missedBy(result).length === 0 ? 'PASS' : 'miss',
        ]),
        notes: missed,
      },
    ],
    ...(missed.length > 0 && { failure: missed.join('; ') }),
  };
}
