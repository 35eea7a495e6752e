import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { firstOutput, stop } from '../process/service.js';
import { sendUpload } from '../upload/send_upload.js';

/** The compiled file, even in tests that run the sources */
const serverProgram = join(import.meta.dirname, '..', '..', 'dist', 'workers', 'forwarding_server.js');

/** What the workers of the server report */
export interface Counted {
  passedOn: number;
  lost: number;
  cpuSeconds: number;
}

/** An upload on a path of which the server's other worker gets all packets, or none */
export interface ForwardedUpload {
  forwarded: boolean;
  gbps: number;
  cpu_seconds_per_gb: number;
  /** Datagrams that a worker passed on, per second */
  datagrams_per_second: number;
  lost: number;
}

/** Connections and further paths of each that are tried, until one path reaches the other worker; each is like the toss of a coin. */
const mostConnections = 8;
const pathsOfConnection = 6;
/** Bytes by which a path is tried */
const trialBytes = 1_000_000;

/** Measures uploads to the worker that has the connection, and through the other one. @throws UserError */
export async function measureForwarding(
  { runs, bytes }: { runs: number; bytes: number },
  progress: (line: string) => void,
): Promise<ForwardedUpload[]> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-workers-'));
  const server = spawn(process.execPath, [serverProgram, directory], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const port = Number(await firstOutput(server, 'the server'));
    const uploads: ForwardedUpload[] = [];
    for (let run = 1; run <= runs; run += 1) {
      for (const forwarded of [false, true]) {
        const upload = await measureOnce({ server, port, bytes, forwarded });
        uploads.push(upload);
        progress(
          `forwarding, run ${run} of ${runs}: ${forwarded ? 'through another worker' : 'direct'}: ${upload.gbps.toFixed(2)} Gbit/s`,
        );
      }
    }
    return uploads;
  } finally {
    await stop(server);
    await rm(directory, { recursive: true, force: true });
  }
}

interface Wanted {
  server: ChildProcess;
  port: number;
  bytes: number;
  forwarded: boolean;
}

async function measureOnce({ server, port, bytes, forwarded }: Wanted): Promise<ForwardedUpload> {
  const client = await (forwarded ? connectThroughOther(server, port) : connect(port));
  try {
    await upload(client, trialBytes);
    const before = await countsOf(server);
    const started = performance.now();
    await upload(client, bytes);
    const seconds = (performance.now() - started) / 1_000;
    const after = await countsOf(server);
    return {
      forwarded,
      gbps: (bytes * 8) / seconds / 1e9,
      cpu_seconds_per_gb: (after.cpuSeconds - before.cpuSeconds) / (bytes / 1e9),
      datagrams_per_second: (after.passedOn - before.passedOn) / seconds,
      lost: after.lost - before.lost,
    };
  } finally {
    await client.close();
  }
}

const connect = (port: number): Promise<Http3Client> =>
  connectHttp3({ host: '127.0.0.1', port, serverName: 'localhost', insecure: true, localAddress: '127.0.0.1' });

/** Connects, and changes to a path whose packets the kernel gives to the worker that does not have the connection. @throws UserError */
async function connectThroughOther(server: ChildProcess, port: number): Promise<Http3Client> {
  for (let attempt = 0; attempt < mostConnections; attempt += 1) {
    const client = await connect(port);
    await upload(client, trialBytes);
    if (await moveToOtherWorker(client, server)) return client;
    await client.close();
  }
  throw new UserError('BENCH_FAILED', `none of ${mostConnections * pathsOfConnection} paths reached the other worker`);
}

/** Changes to paths from other ports. Returns whether the packets on one of them reach the other worker. */
async function moveToOtherWorker(client: Http3Client, server: ChildProcess): Promise<boolean> {
  for (let attempt = 0; attempt < pathsOfConnection; attempt += 1) {
    const opened = await client.openPath({ local: '127.0.0.1' });
    for (const { id, state } of client.status().paths)
      if (id !== opened && state !== 'abandoned') client.abandonPath(id);
    const before = await countsOf(server);
    await upload(client, trialBytes);
    const { passedOn } = await countsOf(server);
    if (passedOn - before.passedOn > trialBytes / 10_000) return true;
  }
  return false;
}

async function countsOf(server: ChildProcess): Promise<Counted> {
  if (!server.stdin || !server.stdout) throw new Error('the server is not asked');
  const answered = once(server.stdout, 'data') as Promise<[Buffer]>;
  server.stdin.write('counts\n');
  const [line] = await answered;
  return JSON.parse(line.toString()) as Counted;
}

async function upload(client: Http3Client, bytes: number): Promise<void> {
  const received = Number(await sendUpload(client, bytes));
  if (received !== bytes) throw new UserError('BENCH_FAILED', `the server received ${received} of ${bytes} bytes`);
}
