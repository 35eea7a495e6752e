import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Gateway } from '../../src/nodes/gateway.js';
import { parseGateway } from '../support/configuration.js';
import { getByHttp2 } from '../support/client.js';
import { startGateway, type RunningGateway } from '../support/gateway.js';
import { frame } from '../support/http2_frames.js';

const frames = {
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
  data: 0,
} as const;
const endStream = 1;
const endHeaders = 4;

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** HPACK: GET, https, /, and the authority `localhost`. */
const request = Buffer.concat([Buffer.from([0x82, 0x87, 0x84, 0x41, 9]), Buffer.from('localhost')]);
const get = (stream: number): Buffer => frame(frames.headers, endHeaders | endStream, stream, request);
const reset = (stream: number): Buffer => frame(frames.rstStream, 0, stream, uint32(8));

// Tests that run beside each other have no hook of their own once they have waited.
const sockets: Socket[] = [];
afterAll(() => sockets.forEach((socket) => socket.destroy()));

async function secure(port: number, protocol: string): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

async function http2(port: number): Promise<TLSSocket> {
  const socket = await secure(port, 'h2');
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(frames.settings, 0, 0)]));
  return socket;
}

/** Writes what `next` makes, again and again, until the other side has had enough; how much it took. */
async function flood(socket: Socket, next: (round: number) => Buffer, rounds: number): Promise<number> {
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let round = 0;
  for (; round < rounds && socket.writable; round += 1) {
    if (!socket.write(next(round)))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    if (round % 50 === 0) await new Promise(setImmediate);
  }
  await closed;
  return round;
}

/** Others are answered meanwhile and afterwards, and nothing of the connection stays. */
async function expectUnharmed({ gateway, port }: RunningGateway): Promise<void> {
  expect((await getByHttp2(port, '/')).status).toBe(404);
  await vi.waitFor(() => expect(gateway.status()).toMatchObject({ tcpConnections: 0, requestsActive: 0 }), 30_000);
}

const site = 'http: 127.0.0.1:0\nroutes: [{ files: . }]';

describe('HTTP/2: a connection ends when its client', () => {
  it('opens streams and resets them at once, over and over', async () => {
    const running = await startGateway(site);
    const socket = await http2(running.port);
    socket.resume();
    await flood(socket, (round) => Buffer.concat([get(2 * round + 1), reset(2 * round + 1)]), 100_000);
    expect(running.gateway.status().requestsTotal).toBeLessThan(3_000);
    await expectUnharmed(running);
  });

  it('makes the gateway reset its streams, over and over', async () => {
    const running = await startGateway(site);
    const socket = await http2(running.port);
    socket.resume();
    // The window of the stream overflows (RFC 9113 §6.9.1).
    const overflow = (stream: number): Buffer => frame(frames.windowUpdate, 0, stream, uint32(2 ** 31 - 1));
    await flood(
      socket,
      (round) => Buffer.concat([frame(frames.headers, endHeaders, 2 * round + 1, request), overflow(2 * round + 1)]),
      100_000,
    );
    expect(running.gateway.status().requestsTotal).toBeLessThan(3_000);
    await expectUnharmed(running);
  });

  it('never ends the headers of a request', async () => {
    const running = await startGateway(site);
    const socket = await http2(running.port);
    socket.resume();
    socket.write(frame(frames.headers, 0, 1, request));
    expect(await flood(socket, () => frame(frames.continuation, 0, 1), 100_000)).toBeLessThan(100_000);
    expect(running.gateway.status().requestsTotal).toBe(0);
    await expectUnharmed(running);
  });

  it.each([
    ['SETTINGS', frame(frames.settings, 0, 0)],
    ['PING', frame(frames.ping, 0, 0, Buffer.alloc(8))],
  ])('sends %s and never takes what answers them', async (_name, one) => {
    const running = await startGateway(site);
    const socket = await http2(running.port);
    socket.pause();
    const many = Buffer.concat(Array.from({ length: 1_000 }, () => one));
    expect(await flood(socket, () => many, 20_000)).toBeLessThan(20_000);
    await expectUnharmed(running);
  });

  it('sends empty DATA frames without end', async () => {
    const running = await startGateway(site);
    const socket = await http2(running.port);
    socket.resume();
    socket.write(frame(frames.headers, endHeaders, 1, Buffer.concat([Buffer.from([0x83]), request.subarray(1)])));
    const many = Buffer.concat(Array.from({ length: 1_000 }, () => frame(frames.data, 0, 1)));
    expect(await flood(socket, () => many, 20_000)).toBeLessThan(20_000);
    await expectUnharmed(running);
  });

  it('sends headers that are larger than they may be', async () => {
    const running = await startGateway(site);
    const socket = await http2(running.port);
    const received: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    const field = Buffer.concat([
      Buffer.from([0x00, 1]),
      Buffer.from('a'),
      Buffer.from([0x7f, 0x81, 0x7e]),
      Buffer.alloc(16_256, 'v'),
    ]);
    socket.write(
      Buffer.concat([
        frame(frames.headers, 0, 1, request),
        frame(frames.continuation, 0, 1, field.subarray(0, 16_000)),
        frame(frames.continuation, 0, 1, field.subarray(16_000)),
        frame(frames.continuation, 0, 1, field.subarray(0, 16_000)),
        frame(frames.continuation, endHeaders, 1, field.subarray(16_000)),
      ]),
    );
    // A reset of the stream, or the status 431.
    await vi.waitFor(() => expect(Buffer.concat(received).length).toBeGreaterThan(100), 30_000);
    socket.destroy();
    await expectUnharmed(running);
  });
});

/** What comes back until the connection ends. */
async function answerTo(socket: Socket, text: string): Promise<string> {
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  sockets.push(socket);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(text, 'latin1');
  await closed;
  return answer;
}

describe('HTTP/1.1: a connection ends with an error when a request', () => {
  it.each([
    ['has two lengths', 'content-length: 5\r\ncontent-length: 6\r\n\r\nhello!', 400],
    ['has a length and chunks', 'content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['has chunks inside of something else', 'transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n', 400],
    ['has a space before the colon', 'transfer-encoding : chunked\r\n\r\n0\r\n\r\n', 400],
    ['has a folded line', 'x-a: b\r\n c\r\nx-b: c\r\n\r\n', 400],
    ['has a lone CR', 'x-a: b\rx-b: c\r\n\r\n', 400],
    ['has two hosts', 'host: other\r\n\r\n', 400],
    ['has a line that is no field', 'nonsense\r\n\r\n', 400],
    ['has headers that are too large', `x-a: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
    [
      'has more headers than fit',
      `${Array.from({ length: 3_000 }, (_, index) => `h${index}: v\r\n`).join('')}\r\n`,
      431,
    ],
  ])('%s', async (_name, rest, status) => {
    const running = await startGateway(site);
    const text = `POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${rest}`;
    const pattern = new RegExp(`^HTTP/1\\.1 ${status} `);
    expect(await answerTo(await secure(running.port, 'http/1.1'), text)).toMatch(pattern);
    expect(await answerTo(connectTcp(running.gateway.httpAddress!.port, '127.0.0.1'), text)).toMatch(pattern);
    await expectUnharmed(running);
  });

  it('has no host', async () => {
    const { port } = await startGateway(site);
    expect(await answerTo(await secure(port, 'http/1.1'), 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 /,
    );
  });
});

describe('a client that takes its time', () => {
  let running: { gateway: Gateway; port: number };
  beforeAll(async () => {
    const loaded = parseGateway(`listen: 127.0.0.1:0\nlog: { level: silent }\n${site}`, '/tmp/sheaf.yaml');
    const gateway = await Gateway.start(loaded, { loadNative: () => Promise.resolve(undefined) });
    running = { gateway, port: gateway.address.port };
    return () => gateway.close(0);
  });

  /** A byte now and then, so that no silence ends the connection. */
  function dribble(socket: Socket, byte = 'a'): void {
    const timer = setInterval(() => (socket.writable ? socket.write(byte) : clearInterval(timer)), 200);
    socket.once('close', () => clearInterval(timer));
  }

  it.concurrent('over its headers loses its connection', async () => {
    const socket = await secure(running.port, 'http/1.1');
    const answer = answerTo(socket, 'GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
    dribble(socket);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it.concurrent('over its headers loses its connection, also without TLS', async () => {
    const socket = connectTcp(running.gateway.httpAddress!.port, '127.0.0.1');
    const answer = answerTo(socket, 'GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
    dribble(socket);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it.concurrent.each(['with TLS', 'without TLS'])(
    'and never begins a request hears nothing when its connection is closed, %s',
    async (security) => {
      const socket =
        security === 'with TLS'
          ? await secure(running.port, 'http/1.1')
          : connectTcp(running.gateway.httpAddress!.port, '127.0.0.1');
      expect(await answerTo(socket, '')).toBe('');
    },
  );

  it.concurrent('over the TLS handshake loses its connection', async () => {
    const socket = connectTcp(running.port, '127.0.0.1');
    await answerTo(socket, '\x16\x03\x01\x02\x00');
  });

  it.concurrent('over the beginning of HTTP/2 loses its connection', async () => {
    const socket = await secure(running.port, 'h2');
    await answerTo(socket, 'PRI * HTTP/2.0\r\n');
  });
});
