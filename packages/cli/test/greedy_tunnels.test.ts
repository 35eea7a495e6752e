// What tunnels cost the gateway whose two sides send without end and read nothing, as the growth of its process.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { Http3Client } from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { connect, greedy, highest, MB, startMeasured } from './support/measured_gateway.js';

const piece = Buffer.alloc(65_536);

/** Bytes without end, from a moment on */
function endless(from: Promise<void>): Readable {
  async function* pieces(): AsyncGenerator<Buffer> {
    await from;
    for (;;) yield piece;
  }
  return Readable.from(pieces());
}

/** A server that sends without end from a moment on, and reads nothing. */
async function startGreedyTarget(from: Promise<void>): Promise<number> {
  const sockets: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket);
    endless(from).pipe(socket.on('error', () => undefined));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Asks for a tunnel, and reads no more than the head of the response. Resolves with its status. */
async function openTunnel(client: Http3Client, target: number, body: Readable): Promise<number> {
  const response = await client.request({ method: 'CONNECT', path: '', authority: `127.0.0.1:${target}`, body });
  response.on('error', () => undefined);
  return response.status;
}

const routes = '- { connect: { allow: 127.0.0.1, clients: 127.0.0.0/8 } }\n  - files: .';

it('500 tunnels of one client that nobody reads cost at most 96 MB, and others are served meanwhile', async () => {
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const target = await startGreedyTarget(begun);
  const gateway = await startMeasured(routes, 'limits: { connection_memory: 8MiB }\n');
  const other = await connect(gateway.port, { keepAliveMs: 5_000 });
  const client = await connect(gateway.port, greedy);
  for (let i = 0; i < 500; i++) void openTunnel(client, target, endless(begun)).catch(() => undefined);
  const open = async (): Promise<number> => (await gateway.status()).tcpTunnels?.open ?? 0;
  // Further ones, for which the connection has no room, wait.
  await expect.poll(open, { timeout: 30_000 }).toBeGreaterThan(100);
  begin();
  const most = await highest(gateway);
  const { transport } = await gateway.status();
  const held = transport.memoryBytesGauge;
  console.log(
    `${await open()} of 500 tunnels: ${(most / MB).toFixed(1)} MB, ${(held / MB).toFixed(1)} in the transport`,
  );
  expect(most).toBeLessThan(96 * MB);
  expect(held).toBeLessThan(32 * MB);
  expect(await open()).toBeGreaterThan(100);
  expect((await other.request({ path: '/small.txt' })).status).toBe(200);
  expect(await openTunnel(other, target, Readable.from([]))).toBe(200);
});
