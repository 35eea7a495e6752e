import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { startRelay } from './relay.js';

async function socket(): Promise<Socket> {
  const opened = createSocket('udp4').bind(0, '127.0.0.1');
  onTestFinished(() => void opened.close());
  await once(opened, 'listening');
  return opened;
}

/** Datagrams by their first byte (RFC 9000 §17) */
const datagram = (first: number, bytes: number): Buffer =>
  Buffer.concat([Buffer.from([first]), Buffer.alloc(bytes - 1)]);
const initial = datagram(0xc3, 1_200);

it('counts the datagrams of a ClientHello, whatever else comes meanwhile', async () => {
  const [server, client, former] = [await socket(), await socket(), await socket()];
  const relay = await startRelay(server.address().port);
  onTestFinished(() => relay.close());
  const ports: number[] = [];
  const carry = async (from: Socket, sent: Buffer): Promise<void> => {
    from.send(sent, relay.port, '127.0.0.1');
    const [, { port }] = (await once(server, 'message')) as [Buffer, { port: number }];
    ports.push(port);
  };
  const answer = async (to: Socket, sent: Buffer): Promise<void> => {
    server.send(sent, ports.at(-1), '127.0.0.1');
    await once(to, 'message');
  };
  await carry(client, initial);
  await answer(client, datagram(0xc2, 42));
  // An earlier client's last packets come over this relay, too. To the server its address has changed.
  await carry(former, datagram(0x41, 40));
  await answer(former, datagram(0x41, 1_200));
  await carry(client, initial);
  expect(relay.counts).toMatchObject({ hello: 2, full: 1, fromClient: 3 });
  await answer(client, initial);
  await carry(client, initial);
  expect(relay.counts).toMatchObject({ hello: 2, full: 2, fromClient: 4 });
});
