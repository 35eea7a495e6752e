import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Http3Client } from '@sheaf/native';
import { expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../support/http3_client.js';
import { startTarget } from '../support/tcp_target.js';
import { ask } from '../support/tcp_tunnels.js';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { crash, startWorkers, type RunningWorkers } from '../support/workers.js';

const most = 6;

/** A node with two workers, whose requests get no response */
async function startSilent(): Promise<RunningWorkers> {
  const upstream = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  onTestFinished(() => {
    upstream.close();
    upstream.closeAllConnections();
  });
  const { port } = upstream.address() as AddressInfo;
  return startWorkers(`listen: 127.0.0.1:0
http: 127.0.0.1:0
workers: 2
limits: { connections_per_network: ${most} }
routes: [{ upstream: { to: "http://127.0.0.1:${port}", connections: 100 } }]
`);
}

/** Opens a connection that is not idle, so that it is not closed for others. Returns whether there was room. */
async function occupy(port: number): Promise<boolean> {
  const client = await connect(port, { connectTimeoutMs: 5_000 }).catch(() => undefined);
  if (client) wait(client);
  return client !== undefined;
}

function wait(client: Http3Client): void {
  client.request({ path: '/' }).catch(() => undefined);
}

async function occupyAll(port: number, attempts: number): Promise<number> {
  let opened = 0;
  for (let attempt = 0; attempt < attempts; attempt++) if (await occupy(port)) opened += 1;
  return opened;
}

const open = async (site: RunningWorkers, worker: number): Promise<number> =>
  (await site.workers())[worker]?.quicConnections ?? 0;

it('two workers have as many QUIC connections of a network as one, and a crash gives places back', async () => {
  const site = await startSilent();
  expect(await occupyAll(site.port, most + 2)).toBe(most);
  const counts = [await open(site, 0), await open(site, 1)] as const;
  expect(counts[0] + counts[1]).toBe(most);
  const fuller = counts[0] > counts[1] ? 0 : 1;
  await crash(site.node, fuller);
  expect(await occupyAll(site.port, most)).toBe(counts[fuller]);
});

it('two workers have as many TCP connections of a network as one, and a crash gives places back', async () => {
  const site = await startSilent();
  const closed: boolean[] = [];
  const openTcp = async (index: number): Promise<void> => {
    const socket = connectTcp(site.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined).once('close', () => (closed[index] = true));
    await once(socket, 'connect');
  };
  for (let index = 0; index < most + 2; index++) await openTcp(index);
  const left = (): number => most + 2 - closed.filter(Boolean).length;
  await vi.waitFor(() => expect(left()).toBe(most), 10_000);
  const counts = (await site.workers()).map(({ tcpConnections }) => tcpConnections ?? 0);
  expect(counts[0]! + counts[1]!).toBe(most);
  const fuller = counts[0]! > counts[1]! ? 0 : 1;
  await crash(site.node, fuller);
  for (let index = most + 2; index < 2 * most + 2; index++) await openTcp(index);
  const stays = (): number => 2 * most + 2 - closed.filter(Boolean).length;
  await vi.waitFor(() => expect(stays()).toBe(most), 10_000);
});

it('connections at `listen` take no places of those at `http`, also where the system chooses both ports', async () => {
  const site = await startSilent();
  const openTo = async (port: number): Promise<Socket> => {
    const socket = connectTcp(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  for (let index = 0; index < most; index++) await openTo(site.port);
  const taken = async (): Promise<number> =>
    (await site.workers()).reduce((sum, { tcpConnections = 0 }) => sum + tcpConnections, 0);
  await expect.poll(taken, { timeout: 10_000 }).toBe(most);
  const plain = await openTo(site.node.httpAddress!.port);
  plain.write('no request\r\n\r\n');
  const [response] = (await once(plain, 'data')) as [Buffer];
  expect(String(response)).toMatch(/^HTTP\/1\.1 400 /);
});

it('a user has as many tunnels at two workers as at one', async () => {
  const { port } = await startTarget();
  const users = join(await temporaryDirectory(), 'users.txt');
  await writeFile(users, 'one:secret\n', { mode: 0o600 });
  const site = await startWorkers(`listen: 127.0.0.1:0
workers: 2
routes: [{ connect: { allow: 127.0.0.1, users: ${users}, tunnels_per_user: 3 } }]
`);
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 16; attempt++) {
    const asked = await ask('3', site.port, {
      authority: `127.0.0.1:${port}`,
      fields: { 'proxy-authorization': `Basic ${Buffer.from('one:secret').toString('base64')}` },
    });
    statuses.push(asked.status);
  }
  expect(statuses).toEqual([200, 200, 200, ...Array.from({ length: 13 }, () => 429)]);
  expect((await open(site, 0)) * (await open(site, 1))).toBeGreaterThan(0);
});
