import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { readAhead } from '../../src/listeners/read_ahead.js';

/** Returns both sides of a connection; that of the server reads ahead before the client sends. */
async function waitingConnection(): Promise<{ client: Socket; waiting: Socket; putBack: () => void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [waiting] = (await accepted) as [Socket];
  onTestFinished(() => {
    client.destroy();
    waiting.destroy();
    server.close();
  });
  return { client, waiting, putBack: readAhead(waiting) };
}

it('a connection that waits closes when its client does, although nobody took what it sent', async () => {
  const { client, waiting } = await waitingConnection();
  const closed = once(waiting, 'close');
  client.end('hello');
  await closed;
  expect(waiting.destroyed).toBe(true);
});

it('what was sent before the turn goes to whoever reads then', async () => {
  const { client, waiting, putBack } = await waitingConnection();
  const arrived = once(waiting, 'readable');
  client.write('hello, ');
  await arrived;
  putBack();
  client.end('world');
  const parts: Buffer[] = [];
  for await (const part of waiting) parts.push(part as Buffer);
  expect(Buffer.concat(parts).toString()).toBe('hello, world');
});

it('a connection that waits holds few bytes of what its client sends', async () => {
  const { client, waiting } = await waitingConnection();
  client.write(Buffer.alloc(4_000_000));
  await vi.waitFor(() => expect(waiting.bytesRead).toBeGreaterThan(16_383), 30_000);
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
  expect(waiting.bytesRead).toBeLessThan(1_000_000);
});
