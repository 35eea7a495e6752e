import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { isGone, limitUnsent } from '@sheaf/native';

const chunk = Buffer.alloc(16 * 1024);
const offered = 32 * 2 ** 20;

/** Both ends of a connection whose client reads nothing. */
async function unread(): Promise<{ socket: Socket; client: Socket }> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.pause().on('error', () => undefined);
  const [socket] = await accepted;
  socket.on('error', () => undefined);
  onTestFinished(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { socket, client };
}

/** Bytes that the kernel has taken, until it takes no more for a while. */
async function takenBytes(socket: Socket): Promise<number> {
  let taken = 0;
  for (let bytes = 0; bytes < offered; bytes += chunk.length)
    socket.write(chunk, (error) => (taken += error ? 0 : chunk.length));
  for (let calm = 0; calm < 5;) {
    const before = taken;
    await sleep(100);
    calm = taken > 0 && before === taken ? calm + 1 : 0;
  }
  return taken;
}

it('a peer that reads nothing costs the kernel no more than what may wait unsent and what is on the way', async () => {
  const { socket, client } = await unread();
  expect(limitUnsent(socket, 64 * 1024)).toBe(true);
  expect(await takenBytes(socket)).toBeLessThan(2 ** 20);
  // What waited goes on once it is read.
  let read = 0;
  client.on('data', (data: Buffer) => (read += data.length)).resume();
  await expect.poll(() => read, { timeout: 30_000 }).toBe(offered);
});

it('the kernel alone takes more than that', async () => {
  const { socket } = await unread();
  expect(await takenBytes(socket)).toBeGreaterThan(2 ** 20);
});

it('a socket that is closed has no limit', async () => {
  const { socket } = await unread();
  socket.destroy();
  expect(limitUnsent(socket, 64 * 1024)).toBe(false);
});

it('a socket is gone once its peer has reset it, also for one who does not read', async () => {
  const { socket, client } = await unread();
  expect(isGone(socket)).toBe(false);
  client.resetAndDestroy();
  await expect.poll(() => isGone(socket)).toBe(true);
  expect(socket.destroyed).toBe(false);
  socket.destroy();
  expect(isGone(socket)).toBe(false);
});
