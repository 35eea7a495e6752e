import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectHttp2, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startFullGateway } from '../support/gateway.js';
import { connect } from '../support/http3_client.js';
import { ecn, openMarkedSocket } from '../support/marked_udp.js';
import { capsule, startTarget, unusedUdpPort } from '../support/udp_target.js';

const upperCase = (packet: Buffer): Buffer => Buffer.from(packet.toString().toUpperCase());

async function startProxy({ more = '', route = '' } = {}) {
  const { gateway, port, log } = await startFullGateway(
    `tls: dev
routes:
  - path: /masque/
    host: [127.0.0.1, localhost]
    connect_udp: { allow: 127.0.0.1, clients: 127.0.0.0/8${more} }
  ${route}
`,
  );
  return { gateway, port, log };
}

async function openSocket(port: number, protocol = 'http/1.1'): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

const upgradeTo = (
  target: number,
  { method = 'GET', fields = '', path = `/masque/127.0.0.1/${target}/` } = {},
): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: connect-udp\r\nCapsule-Protocol: ?1\r\n${fields}\r\n`;

/** Waits for the end of a stream, with an error or without one. */
const closeOf = (stream: NodeJS.EventEmitter): Promise<void> => new Promise((resolve) => stream.once('close', resolve));

/** Reads until the bytes satisfy a condition. */
async function readUntil(stream: NodeJS.ReadableStream, enough: (bytes: Buffer) => boolean): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  while (!enough(bytes)) bytes = Buffer.concat([bytes, ...((await once(stream, 'data')) as [Buffer])]);
  return bytes;
}

const headOf = (bytes: Buffer): string => bytes.toString('latin1').split('\r\n\r\n')[0]!;

/** Sends a request on a connection of its own, and returns the status of the response, or what follows its head. */
async function statusOf(port: number, request: string): Promise<number> {
  const socket = await openSocket(port);
  socket.write(request);
  const bytes = await readUntil(socket, (read) => read.includes('\r\n\r\n'));
  return Number(/^HTTP\/1\.1 (\d+)/.exec(bytes.toString('latin1'))?.[1]);
}

async function openSession(port: number): Promise<ClientHttp2Session> {
  // The socket closes behind the test. Sessions of Node 20 that are destroyed after the error of a stream never return.
  const socket = await openSocket(port, 'h2');
  const session = connectHttp2(`https://127.0.0.1:${port}`, { createConnection: () => socket });
  session.on('error', () => undefined);
  await once(session, 'remoteSettings');
  return session;
}

async function openStream(
  session: ClientHttp2Session,
  target: number,
  more: Record<string, string> = {},
): Promise<{ stream: ClientHttp2Stream; status: number; headers: Record<string, unknown> }> {
  const stream = session.request(
    {
      ':method': 'CONNECT',
      ':protocol': 'connect-udp',
      ':scheme': 'https',
      ':authority': 'localhost',
      ':path': `/masque/127.0.0.1/${target}/`,
      ...more,
    },
    { endStream: false },
  );
  stream.on('error', () => undefined);
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  return { stream, status: headers[':status'] as number, headers };
}

it('HTTP/1.1: packets travel in capsules once the connection is upgraded, also those that came with the request', async () => {
  const target = await startTarget(upperCase);
  const { gateway, port, log } = await startProxy();
  const socket = await openSocket(port);
  socket.write(upgradeTo(target.address().port) + capsule('one').toString('latin1'), 'latin1');
  const bytes = await readUntil(socket, (read) => read.includes('ONE'));
  expect(headOf(bytes)).toBe(
    [
      'HTTP/1.1 101 Switching Protocols',
      'connection: Upgrade',
      'upgrade: connect-udp',
      'capsule-protocol: ?1',
      `proxy-status: sheaf; next-hop="127.0.0.1:${target.address().port}"`,
    ].join('\r\n'),
  );
  expect(bytes.subarray(-5)).toEqual(capsule('ONE').subarray(1));
  for (const byte of capsule('pieces')) socket.write(Buffer.from([byte]));
  expect(await readUntil(socket, (read) => read.includes('PIECES'))).toEqual(capsule('PIECES'));
  expect(gateway.status().tunnels).toMatchObject({ open: 1, packetsToTarget: 2, packetsToClient: 2 });
  socket.end();
  await closeOf(socket);
  await vi.waitFor(() => expect(gateway.status().tunnels?.open).toBe(0), 10_000);
  const ended = log.find(({ msg }) => msg === 'tunnel ended');
  expect(ended).toMatchObject({ httpVersion: '1.1', reason: 'client', code: 0x100, bytesToTarget: 9, drops: {} });
});

it('packets keep their ECN marks for a client that registers contexts', async () => {
  const { port } = await startProxy();
  const target = await openMarkedSocket();
  const contexts = { 'ecn-dscp-context-id': '(0 0 2 4 6)' };
  const { stream, headers } = await openStream(await openSession(port), target.port, contexts);
  const socket = await openSocket(port);
  socket.write(upgradeTo(target.port, { fields: 'ECN-DSCP-Context-ID: (0 0 2 4 6)\r\n' }));
  const head = await readUntil(socket, (bytes) => bytes.includes('\r\n\r\n'));
  expect(headers).toMatchObject({ 'ecn-dscp-context-id': '(0 0 3 5 7)' });
  expect(headOf(head)).toContain('\r\necn-dscp-context-id: (0 0 3 5 7)');
  for (const client of [stream, socket]) {
    client.write(capsule('there', 4));
    const packet = await target.next();
    expect(packet).toMatchObject({ ecn: ecn.ect0, text: 'there' });
    target.send({ ...packet, ecn: ecn.ce, text: 'back' });
    expect(await readUntil(client, (bytes) => bytes.includes('back'))).toEqual(capsule('back', 7));
  }
});

it('HTTP/2: packets travel in capsules on the stream of extended CONNECT, beside other requests', async () => {
  const target = await startTarget(upperCase);
  const { gateway, port } = await startProxy();
  const session = await openSession(port);
  const tunnels = await Promise.all([1, 2, 3].map(() => openStream(session, target.address().port)));
  for (const [index, { stream, status, headers }] of tunnels.entries()) {
    expect([status, headers['capsule-protocol']]).toEqual([200, '?1']);
    stream.write(capsule(`number ${index}`));
    expect(await readUntil(stream, (read) => read.length > 0)).toEqual(capsule(`NUMBER ${index}`));
  }
  expect(gateway.status().tunnels).toMatchObject({ open: 3, answers: { 200: 3 } });
  tunnels[0]!.stream.end();
  await closeOf(tunnels[0]!.stream);
  expect(tunnels[0]!.stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  tunnels[1]!.stream.close(constants.NGHTTP2_CANCEL);
  tunnels[2]!.stream.end();
  await vi.waitFor(() => expect(gateway.status().tunnels?.open).toBe(0), 10_000);
});

it.each([
  ['a capsule that is cut', [Buffer.from([0, 9, 0])], true],
  ['a capsule without an end', [Buffer.from([0, 0xff, ...new Array<number>(7).fill(0xff)])], false],
  ['a datagram without a context', [Buffer.from([0, 0])], false],
])('%s ends its tunnel alone, over HTTP/2 and HTTP/1.1', async (_what, pieces, ends) => {
  const target = await startTarget(upperCase);
  const { gateway, port } = await startProxy();
  const session = await openSession(port);
  const other = await openStream(session, target.address().port);
  const { stream } = await openStream(session, target.address().port);
  const socket = await openSocket(port);
  socket.write(upgradeTo(target.address().port));
  await readUntil(socket, (read) => read.includes('\r\n\r\n'));
  for (const each of [stream, socket]) {
    for (const piece of pieces) each.write(piece);
    if (ends) each.end();
    await closeOf(each);
  }
  // A stream that both sides have ended may get no code any more.
  if (!ends) expect(stream.rstCode).toBe(constants.NGHTTP2_PROTOCOL_ERROR);
  other.stream.write(capsule('still here'));
  expect(await readUntil(other.stream, (read) => read.length > 0)).toEqual(capsule('STILL HERE'));
  expect(gateway.status().tunnels?.open).toBe(1);
});

it('a target that refuses ends its tunnel with CONNECT_ERROR, or the connection of HTTP/1.1', async () => {
  const { gateway, port } = await startProxy();
  const target = await unusedUdpPort();
  const { stream } = await openStream(await openSession(port), target);
  const socket = await openSocket(port);
  socket.write(upgradeTo(target));
  await readUntil(socket, (read) => read.includes('\r\n\r\n'));
  for (const each of [stream, socket]) {
    each.write(capsule('knock'));
    await closeOf(each);
  }
  expect(stream.rstCode).toBe(constants.NGHTTP2_CONNECT_ERROR);
  expect(gateway.status().tunnels).toMatchObject({ open: 0 });
});

it('refuses what is no request for a tunnel, over both versions', async () => {
  const { port } = await startProxy();
  const http1 = (options: Parameters<typeof upgradeTo>[1]) => statusOf(port, upgradeTo(9, options));
  expect(await http1({ method: 'POST' })).toBe(405);
  expect(await http1({ method: 'PUT', fields: 'Content-Length: 3\r\n' })).toBe(405);
  expect(await http1({ fields: 'Transfer-Encoding: chunked\r\n' })).toBe(400);
  expect(await http1({ fields: 'Host: second\r\n' })).toBe(400);
  expect(await http1({ path: '/masque/' })).toBe(400);
  expect(await http1({ path: '/elsewhere/127.0.0.1/9/' })).toBe(404);
  expect(await http1({ path: '/masque/127.0.0.2/9/' })).toBe(403);
  expect(await statusOf(port, `CONNECT 127.0.0.1:9 HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n`)).toBe(501);
  const session = await openSession(port);
  const http2 = async (more: Record<string, string>) => (await openStream(session, 9, more)).status;
  expect(await http2({ ':protocol': 'connect-ip' })).toBe(501);
  expect(await http2({ ':authority': 'another.example' })).toBe(421);
  expect(await http2({ ':path': '/masque/127.0.0.1/0/' })).toBe(400);
  expect(await http2({ ':path': '/masque/192.168.1.1/9/' })).toBe(403);
  const plain = session.request({ ':method': 'CONNECT', ':authority': '127.0.0.1:9' });
  expect(((await once(plain, 'response')) as [object])[0]).toMatchObject({ ':status': 501 });
  expect((await openStream(session, 9)).status).toBe(200);
});

it('requests that ask for other protocols are answered, and their connections go on', async () => {
  const { port } = await startProxy();
  const socket = await openSocket(port);
  for (const protocol of ['websocket', 'h2c']) {
    socket.write(
      `POST /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nContent-Length: 2\r\n\r\nhi`,
    );
    expect(headOf(await readUntil(socket, (read) => read.includes('\r\n\r\n')))).toMatch(/^HTTP\/1\.1 404 /);
  }
});

it('tunnels of all versions count for one limit', async () => {
  const target = await startTarget();
  const { port } = await startProxy({ more: ', tunnels_per_address: 2' });
  const session = await openSession(port);
  const first = await openStream(session, target.address().port);
  const socket = await openSocket(port);
  socket.write(upgradeTo(target.address().port));
  await readUntil(socket, (read) => read.includes('\r\n\r\n'));
  expect((await openStream(session, target.address().port)).status).toBe(429);
  expect(await statusOf(port, upgradeTo(target.address().port))).toBe(429);
  first.stream.close(constants.NGHTTP2_CANCEL);
  await vi.waitFor(async () => expect((await openStream(session, target.address().port)).status).toBe(200), 10_000);
});

it.each(['1.1', '2'])('a client of HTTP/%s that reads nothing holds little, and others go on', async (version) => {
  const echo = await startTarget(upperCase);
  // Answers every packet with a megabyte.
  const flood = await startTarget();
  flood.on('message', (_packet, { port, address }) => {
    for (let index = 0; index < 1_000; ++index) flood.send(Buffer.alloc(1_000), port, address);
  });
  const { gateway, port } = await startProxy({ more: ', queue: 64KiB' });
  let stalled: TLSSocket | ClientHttp2Stream;
  if (version === '2') {
    ({ stream: stalled } = await openStream(await openSession(port), flood.address().port));
  } else {
    stalled = await openSocket(port);
    stalled.write(upgradeTo(flood.address().port));
    await readUntil(stalled, (read) => read.includes('\r\n\r\n'));
  }
  stalled.pause();
  const dropped = (): number => {
    const { queueFull = 0, queueStanding = 0 } = gateway.status().tunnels?.drops ?? {};
    return queueFull + queueStanding;
  };
  await vi.waitFor(
    () => {
      stalled.write(capsule('more'));
      expect(dropped()).toBeGreaterThan(2_000);
    },
    { timeout: 30_000, interval: 20 },
  );
  const { stream } = await openStream(await openSession(port), echo.address().port);
  stream.write(capsule('beside it'));
  expect(await readUntil(stream, (read) => read.length > 0)).toEqual(capsule('BESIDE IT'));
  // It gets what had its way before, and newer packets.
  stalled.resume();
  await vi.waitFor(() => expect(gateway.status().tunnels?.bytesToClient).toBeGreaterThan(64_000), 10_000);
  stalled.destroy();
  await vi.waitFor(() => expect(gateway.status().tunnels?.open).toBe(1), 10_000);
});

it('a gateway that stops lets tunnels go on until they end, and opens no more', async () => {
  const target = await startTarget(upperCase);
  const { gateway, port } = await startProxy();
  const { stream } = await openStream(await openSession(port), target.address().port);
  const socket = await openSocket(port);
  socket.write(upgradeTo(target.address().port));
  await readUntil(socket, (read) => read.includes('\r\n\r\n'));
  const closed = gateway.close(20_000);
  for (const each of [stream, socket]) {
    each.write(capsule('draining'));
    expect(await readUntil(each, (read) => read.length > 0)).toEqual(capsule('DRAINING'));
  }
  stream.end();
  socket.end();
  await closed;
});

it('the log of a gateway that stops at once has a line for each open tunnel', async () => {
  const target = await startTarget(upperCase);
  const { gateway, port, log } = await startProxy();
  const { stream } = await openStream(await openSession(port), target.address().port);
  stream.write(capsule('one'));
  await readUntil(stream, (read) => read.length > 0);
  const client = await connect(port);
  const path = `/masque/127.0.0.1/${target.address().port}/`;
  const { status } = await client.request({
    method: 'CONNECT',
    protocol: 'connect-udp',
    path,
    body: new PassThrough(),
  });
  expect(status).toBe(200);
  await gateway.close(0);
  const ended = log.filter(({ msg }) => msg === 'tunnel ended');
  expect(ended.map(({ httpVersion }) => httpVersion).sort()).toEqual(['2', '3']);
  expect(ended.find(({ httpVersion }) => httpVersion === '2')).toMatchObject({
    packetsToClient: 1,
    reason: 'connection',
  });
});

it.each([
  ['an upgrade by another method', 'POST /masque/127.0.0.1/1/ HTTP/1.1\r\nUpgrade: connect-udp\r\n', 405],
  ['an upgrade with a body', 'GET /masque/127.0.0.1/1/ HTTP/1.1\r\nUpgrade: connect-udp\r\nContent-Length: 1\r\n', 400],
  ['a CONNECT', 'CONNECT 127.0.0.1:1 HTTP/1.1\r\n', 501],
])(
  'HTTP/1.1: %s is refused behind the responses of earlier requests',
  async (_name, request, status) => {
    const site = await mkdtemp(join(tmpdir(), 'sheaf-refused-'));
    onTestFinished(() => rm(site, { recursive: true }));
    await writeFile(join(site, 'large'), Buffer.alloc(4_000_000, 'x'));
    const { port } = await startProxy({ route: `- files: ${site}` });
    const socket = await openSocket(port);
    const fields = 'Host: localhost\r\nConnection: Upgrade\r\n\r\n';
    socket.write(`GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n${request}${fields}`);
    let text = '';
    for await (const bytes of socket) text += (bytes as Buffer).toString('latin1');
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toMatch(new RegExp(`^x{4000000}HTTP/1\\.1 ${status} `));
  },
  20_000,
);
