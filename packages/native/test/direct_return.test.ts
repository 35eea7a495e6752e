import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { openReturnSocket } from '../lib/direct_return.js';

async function bound() {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return socket;
}

it('sends datagrams from its address until it is closed', async () => {
  const client = await bound();
  const received: [string, RemoteInfo][] = [];
  client.on('message', (message, from) => received.push([message.toString(), from]));
  const other = createSocket('udp4').bind(0, '127.0.0.1');
  await once(other, 'listening');
  const from = { address: '127.0.0.1', port: other.address().port };
  other.close(); // its port is free now
  await once(other, 'close');
  const socket = openReturnSocket({ from, via: 'own-address' });
  expect(socket.send(Buffer.from('onetwolast'), client.address(), 3)).toBe(true);
  expect(socket.send(Buffer.from('whole'), client.address())).toBe(true);
  await expect.poll(() => received.length, { timeout: 30_000 }).toBe(5);
  expect(received.map(([text]) => text)).toEqual(['one', 'two', 'las', 't', 'whole']);
  for (const [, { address, port }] of received) expect({ address, port }).toEqual(from);
  expect(socket.send(Buffer.alloc(0), client.address())).toBe(false);
  socket.close();
  expect(socket.send(Buffer.from('late'), client.address())).toBe(false);
  socket.close();
});

it('says what to do when it cannot send from an address', async () => {
  const { port } = (await bound()).address();
  const opening =
    (address: string, at = port) =>
    () =>
      openReturnSocket({ from: { address, port: at }, via: 'own-address' });
  expect(opening('127.0.0.1')).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }));
  expect(opening('127.0.0.1')).toThrow('SO_REUSEPORT');
  expect(opening('203.0.113.7')).toThrow('ip addr add 203.0.113.7/32 dev lo');
  expect(opening('127.0.0.1', 0)).toThrow(expect.objectContaining({ code: 'EINVAL' }));
  expect(opening('gateway.example')).toThrow('not an IP address');
});

it('does not send to what is no address', () => {
  const socket = openReturnSocket({ from: { address: '127.0.0.1', port: 50_443 }, via: 'own-address' });
  expect(() => socket.send(Buffer.from('x'), { address: 'client.example', port: 1 })).toThrow('not an IP address');
  socket.close();
});
