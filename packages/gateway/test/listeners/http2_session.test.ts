import { once } from 'node:events';
import { constants, createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isGone } from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { watchSession } from '../../src/listeners/http2_session.js';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';

const idleMs = 100;
const largestWindow = Buffer.from([0x7f, 0xff, 0, 0]);

const frame = (type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer =>
  Buffer.concat([Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, stream]), payload]);

/** A client with three requests, which lets the server send much without reading it */
const hungry = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(4, 0, 0, Buffer.concat([Buffer.from([0, constants.NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE]), largestWindow])),
  frame(8, 0, 0, largestWindow),
  // GET https://a/
  ...[1, 3, 5].map((stream) => frame(1, 5, stream, Buffer.from([0x82, 0x84, 0x87, 1, 1, 0x61]))),
]);

/** Waits for the end of something, with an error or without one. */
const closeOf = (emitter: NodeJS.EventEmitter): Promise<void> =>
  new Promise((resolve) => emitter.on('error', () => undefined).once('close', resolve));

/** A session with streams that wait for their responses, with the sockets of both sides */
async function openSession() {
  const { certificate, privateKey } = await createDevCertificate(['localhost'], new Date());
  const server = createSecureServer({ cert: certificate, key: privateKey }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  const streams: ServerHttp2Stream[] = [];
  const opened = new Promise<void>((resolve) =>
    server.on('stream', (stream) => streams.push(stream) === 3 && resolve()),
  );
  const accepted = once(server, 'secureConnection') as Promise<[Socket]>;
  await once(server, 'listening');
  const raw = connectTcp((server.address() as AddressInfo).port, '127.0.0.1');
  const client = connectTls({ socket: raw, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  for (const each of [raw, client]) each.on('error', () => undefined);
  onTestFinished(() => void raw.destroy());
  client.write(hungry);
  const [socket] = await accepted;
  await opened;
  const session = streams[0]!.session as ServerHttp2Session;
  watchSession(session, socket, idleMs);
  const closed = Promise.all([session, socket, ...streams].map(closeOf));
  return { session, streams, socket, raw, closed };
}

it('a session ends whose client has left while its streams were reset', async () => {
  const { streams, socket, raw, closed } = await openSession();
  raw.resetAndDestroy();
  while (!isGone(socket));
  // The first reset fails. Node sends no other one, and waits for it without reading.
  for (const stream of streams) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  await closed;
});

it.each(['close', 'destroy'] as const)('a session ends by %s, although its client takes nothing', async (end) => {
  const { session, streams, socket, closed } = await openSession();
  for (const stream of streams) {
    stream.respond();
    stream.write(Buffer.alloc(8 << 20));
  }
  // What the systems hold between them is far less.
  await new Promise(setImmediate);
  for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
  session[end]();
  expect(socket.destroyed).toBe(false);
  await closed;
});
