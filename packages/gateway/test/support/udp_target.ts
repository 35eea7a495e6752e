import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** A UDP socket that says `reply(packet)` to each packet, or nothing; closes with the test. */
export async function startTarget(reply?: (packet: Buffer) => Buffer): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.on('message', (packet, from) => {
    if (reply) socket.send(reply(packet), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  return socket;
}

/** A port of UDP that nobody has */
export async function unusedUdpPort(): Promise<number> {
  const target = createSocket('udp4').bind(0, '127.0.0.1');
  await once(target, 'listening');
  const { port } = target.address();
  await new Promise<void>((resolve) => target.close(() => resolve()));
  return port;
}

/** One DATAGRAM capsule with less than 64 bytes, for the context of UDP payloads unless another one is given */
export const capsule = (payload: string, context = 0): Buffer =>
  Buffer.from([0, payload.length + 1, context, ...Buffer.from(payload)]);
