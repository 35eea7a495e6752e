import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { connectFirst, inTurn, UnreachableError } from '../../src/tunnels/connect_first.js';

async function listen(host: string): Promise<number> {
  const server = createServer((socket) => socket.destroy()).listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it('connects to the next address when one refuses', async () => {
  const port = await listen('127.0.0.3');
  const socket = await connectFirst(['127.0.0.1', '127.0.0.2', '127.0.0.3'], port);
  expect(socket?.remoteAddress).toBe('127.0.0.3');
  socket?.destroy();
});

it('tells why nothing connected', async () => {
  const port = await listen('127.0.0.3');
  const refused = await connectFirst(['127.0.0.1', '127.0.0.2'], port).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(UnreachableError);
  expect((refused as UnreachableError).codes).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
});

it('connects to nothing for a client that has left', async () => {
  const port = await listen('127.0.0.1');
  const signal = AbortSignal.abort();
  expect(await connectFirst(['127.0.0.1'], port, { signal })).toBeUndefined();
  const left = new AbortController();
  const socket = connectFirst(['127.0.0.1'], port, { signal: left.signal });
  left.abort();
  expect(await socket).toBeUndefined();
});

it('takes both families in turn, and a few of many addresses', () => {
  expect(inTurn(['::1', '::2', '::3', '192.0.2.1'])).toEqual(['::1', '192.0.2.1', '::2', '::3']);
  expect(inTurn(['192.0.2.1', '::1', '::2', '::3'])).toEqual(['192.0.2.1', '::1', '::2', '::3']);
  expect(inTurn(Array.from({ length: 100 }, (_, index) => `192.0.2.${index}`))).toHaveLength(8);
});
