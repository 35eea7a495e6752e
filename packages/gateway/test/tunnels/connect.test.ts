import { once } from 'node:events';
import { constants } from 'node:http2';
import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { startFullGateway } from '../support/gateway.js';
import { connect as connectHttp3 } from '../support/http3_client.js';
import { readAll, startTarget } from '../support/tcp_target.js';
import { ask as askFor, versions, type Asked, type Version } from '../support/tcp_tunnels.js';

async function startProxy(options = '') {
  const { gateway, port, log } = await startFullGateway(
    `tls: dev\nroutes:\n  - connect: { allow: 127.0.0.1, clients: 127.0.0.0/8${options} }\n`,
  );
  return { gateway, port, log };
}

const ask = (version: Version, port: number, target: string | number): Promise<Asked> =>
  askFor(version, port, { authority: typeof target === 'string' ? target : `127.0.0.1:${target}` });

it('HTTP/1.1: what a client has sent arrives before its connection closes in both directions', async () => {
  const target = await startTarget();
  const { gateway, port } = await startProxy();
  const asked = await ask('1.1', port, target.port);
  const socket = await target.accept();
  socket.write('to the client');
  expect(String(((await once(asked.incoming.resume(), 'data')) as [Buffer])[0])).toBe('to the client');
  asked.outgoing.end('from the client');
  expect(await readAll(socket)).toBe('from the client');
  await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open).toBe(0), 10_000);
});

it.each(['2', '3'] as const)('HTTP/%s: bytes travel both ways, and each side ends by itself', async (version) => {
  const target = await startTarget();
  const { gateway, port, log } = await startProxy();
  const asked = await ask(version, port, target.port);
  expect([asked.status, asked.headers['proxy-status']]).toEqual([200, `sheaf; next-hop="127.0.0.1:${target.port}"`]);
  const socket = await target.accept();
  expect(gateway.status().tcpTunnels).toMatchObject({ open: 1, answers: { 200: 1 } });
  asked.outgoing.end('from the client');
  expect(await readAll(socket)).toBe('from the client');
  socket.end('and to it, after its end');
  expect(await readAll(asked.incoming)).toBe('and to it, after its end');
  await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open).toBe(0), 10_000);
  expect(gateway.status().tcpTunnels).toMatchObject({ bytesToTarget: 15, bytesToClient: 24 });
  expect(log.find(({ msg }) => msg === 'TCP tunnel ended')).toMatchObject({
    target: `127.0.0.1:${target.port}`,
    httpVersion: version,
    reason: 'ended',
    bytesToTarget: 15,
    bytesToClient: 24,
  });
});

it.each(versions)('HTTP/%s: a client goes on after the end of its target', async (version) => {
  const target = await startTarget();
  const { port } = await startProxy();
  const asked = await ask(version, port, target.port);
  const socket = await target.accept();
  socket.end('all of it');
  expect(await readAll(asked.incoming)).toBe('all of it');
  asked.outgoing.end('more of it');
  expect(await readAll(socket)).toBe('more of it');
});

it.each([
  ['1.1', undefined],
  ['2', constants.NGHTTP2_CONNECT_ERROR],
  ['3', 0x10f],
] as const)('HTTP/%s: a target that breaks off ends the stream with code %s', async (version, code) => {
  const target = await startTarget();
  const { gateway, port } = await startProxy();
  const asked = await ask(version, port, target.port);
  asked.incoming.resume();
  const socket = await target.accept();
  socket.resetAndDestroy();
  expect(await asked.code).toBe(code);
  expect(gateway.status().tcpTunnels?.open).toBe(0);
});

it.each(versions)('HTTP/%s: the target hears of a client that breaks off', async (version) => {
  const target = await startTarget();
  const { gateway, port, log } = await startProxy();
  const asked = await ask(version, port, target.port);
  const socket = await target.accept();
  socket.resume();
  asked.reset();
  // Node's client of HTTP/2 ends the stream ahead of its reset.
  if (version === '2') await once(socket, 'end');
  else expect(await once(socket, 'error')).toMatchObject([{ code: 'ECONNRESET' }]);
  await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open).toBe(0), 10_000);
  expect(log.find(({ msg }) => msg === 'TCP tunnel ended')).toMatchObject({ reason: 'client' });
});

it.each(versions)('HTTP/%s: a client that reads nothing holds its target back, and nobody else', async (version) => {
  const target = await startTarget();
  const { gateway, port } = await startProxy();
  const stalled = await ask(version, port, target.port);
  const socket = await target.accept();
  socket.on('drain', () => socket.write(Buffer.alloc(1 << 20)));
  while (socket.write(Buffer.alloc(1 << 20)));
  const other = await ask(version, port, target.port);
  const echo = await target.accept();
  echo.pipe(echo);
  other.incoming.resume();
  const pieces = Array.from({ length: 40 }, (_, index) => `piece ${index}`);
  for (const piece of pieces) {
    other.outgoing.write(piece);
    expect(String(((await once(other.incoming, 'data')) as [Buffer])[0])).toBe(piece);
  }
  // What the systems between gateway, target and client hold, too
  expect(gateway.status().tcpTunnels?.bytesToClient).toBeLessThan(40_000_000);
  stalled.reset();
  await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open).toBe(1), 10_000);
});

it('HTTP/3: another frame than DATA ends the connection with H3_FRAME_UNEXPECTED (RFC 9114 §4.4)', async () => {
  const target = await startTarget();
  const { gateway, port } = await startProxy();
  const client = await connectHttp3(port);
  const closed = once(client, 'close');
  const body = new PassThrough();
  const response = await client.request({
    method: 'CONNECT',
    path: '',
    authority: `127.0.0.1:${target.port}`,
    body,
    trailers: () => ({ 'x-behind': 'the body' }),
  });
  response.on('error', () => undefined);
  expect(response.status).toBe(200);
  body.end('the body');
  expect(await closed).toMatchObject([{ errorCode: 0x105 }]);
  await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open).toBe(0), 10_000);
});

it('refuses targets that are not permitted, malformed, or do not respond, over every version', async () => {
  const { port } = await startProxy();
  const unused = await startTarget();
  unused.server.close();
  await once(unused.server, 'close');
  for (const version of versions) {
    const responded = async (target: string) => {
      const { status, headers } = await ask(version, port, target);
      return [status, headers['proxy-status']];
    };
    expect(await responded('127.0.0.2:9')).toEqual([403, 'sheaf; error=destination_ip_prohibited']);
    expect(await responded('[::ffff:127.0.0.2]:9')).toEqual([403, 'sheaf; error=destination_ip_prohibited']);
    expect(await responded('127.0.0.1:0')).toEqual([400, undefined]);
    expect(await responded(`127.0.0.1:${unused.port}`)).toEqual([502, 'sheaf; error=connection_refused']);
  }
}, 30_000);

it('bounds tunnels of a client, and those without a byte for too long', async () => {
  const target = await startTarget();
  const { gateway, port, log } = await startProxy(', tunnels_per_address: 2, idle: 300ms');
  const first = await ask('2', port, target.port);
  await ask('1.1', port, target.port);
  expect((await ask('3', port, target.port)).status).toBe(429);
  first.incoming.resume();
  expect(await first.code).toBe(constants.NGHTTP2_CONNECT_ERROR);
  await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open).toBe(0), 10_000);
  expect(log.filter(({ reason }) => reason === 'idle')).toHaveLength(2);
  expect((await ask('3', port, target.port)).status).toBe(200);
});

it('without such a route, CONNECT is not implemented', async () => {
  const { port } = await startFullGateway(
    'tls: dev\nroutes:\n  - connect_udp: { allow: 127.0.0.1, clients: 127.0.0.0/8 }\n',
  );
  for (const version of versions) expect((await ask(version, port, 9)).status).toBe(501);
});
