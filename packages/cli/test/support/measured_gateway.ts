import { readFileSync } from 'node:fs';
import { truncate, writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { get as getHttps } from 'node:https';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectHttp3, type ClientOptions, type Http3Client } from '@sheaf/native';
import { expect, onTestFinished } from 'vitest';
import { freePort, start } from './process.js';
import { temporaryDirectory } from './world.js';

export const MB = 1e6;
export const fileSize = 3 * MB;

/** A client that reads nothing: what it allows on each stream is used up at once. */
export const greedy = {
  initialStreamWindow: 1_024,
  maxStreamWindow: 1_024,
  idleTimeoutMs: 60_000,
} satisfies Partial<ClientOptions>;

/** A gateway in a process of its own, whose memory is looked at */
export interface Measured {
  port: number;
  /** Bytes that the process has grown by since the gateway was warm. */
  growth(): number;
  status(): Promise<{
    transport: { limitHits: Record<string, number>; memoryBytesGauge: number };
    requestsActive: number;
    tcpConnections: number;
    tcpTunnels?: { open: number };
    connections: unknown[];
  }>;
}

/** Starts a gateway, and lets it get warm. */
export async function startMeasured(routes: string, limits = ''): Promise<Measured> {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'large.bin'), '');
  await truncate(join(directory, 'large.bin'), fileSize);
  await writeFile(join(directory, 'small.txt'), 'x'.repeat(1_024));
  const [port, admin] = [await freePort(), await freePort()];
  await writeFile(
    join(directory, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\nlog: { access: false }\n${limits}routes:\n  ${routes}\n`,
  );
  const gateway = start(['up', 'sheaf.yaml'], directory);
  await expect
    .poll(async () => (await fetch(`http://127.0.0.1:${admin}/readyz`).catch(() => undefined))?.status, {
      timeout: 60_000,
    })
    .toBe(200);
  const memory = (): number =>
    Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8'))![1]) * 1_024;
  // Code is loaded and compiled, and the heap has the size that it has under load.
  const warm = await connect(port);
  const base = routes.includes('/up') ? ['', '/up'] : [''];
  for (let i = 0; i < 300; i++) {
    for (const path of base)
      for await (const chunk of await warm.request({ path: `${path}${i % 10 === 0 ? '/large.bin' : '/small.txt'}` }))
        void chunk;
  }
  await warm.close();
  if (limits === '') await downloadPolitely(port);
  const status: Measured['status'] = async () => (await fetch(`http://127.0.0.1:${admin}/status`)).json() as never;
  await expect.poll(async () => (await status()).connections.length, { timeout: 60_000 }).toBe(0);
  const before = memory();
  return { port, growth: () => memory() - before, status };
}

/** Thirty clients of each version at one time, which read what they ask for and go. */
async function downloadPolitely(port: number): Promise<void> {
  const url = `https://127.0.0.1:${port}/large.bin`;
  const session = connectHttp2(url, { rejectUnauthorized: false });
  const clients = await Promise.all(Array.from({ length: 30 }, () => connect(port)));
  const bodies = clients.flatMap((client) => [
    client.request({ path: '/large.bin' }),
    new Promise<Readable>((resolve, reject) =>
      getHttps(url, { rejectUnauthorized: false, agent: false }, resolve).on('error', reject),
    ),
    session.request({ ':path': '/large.bin' }),
  ]);
  await Promise.all(bodies.map(read));
  session.close();
  await Promise.all(clients.map((client) => client.close()));
}

async function read(body: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>): Promise<void> {
  for await (const chunk of await body) void chunk;
}

/** Connects to a gateway. */
export async function connect(port: number, options: Partial<ClientOptions> = {}): Promise<Http3Client> {
  const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true, ...options });
  onTestFinished(() => client.close().catch(() => undefined));
  return client;
}

/** The most that `growth` says until it has not grown for a while. */
export async function highest(measured: Measured): Promise<number> {
  let most = 0;
  for (let calm = 0; calm < 20; calm++) {
    const now = measured.growth();
    if (now > most + MB / 4) calm = 0;
    most = Math.max(most, now);
    await sleep(100);
  }
  return most;
}
