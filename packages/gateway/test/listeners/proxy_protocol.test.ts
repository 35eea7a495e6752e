import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { RequestListener } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { collect } from '../support/client.js';
import { startFullGateway, startGateway, type RunningGateway } from '../support/gateway.js';
import { ask, connect as connectHttp3 } from '../support/http3_client.js';
import { startUpstream } from '../support/upstream.js';

const mirror: RequestListener = (request, response) => void response.end(JSON.stringify(request.headers));

const header = {
  'version 1': Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n'),
  'version 2': Buffer.from('0d0a0d0a000d0a515549540a2111000cc0000207c6336401dc0401bb', 'hex'),
  LOCAL: Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex'),
} as const;

async function start(keys = '', from = startGateway): Promise<RunningGateway> {
  const upstream = await startUpstream(mirror);
  return from(`http: 127.0.0.1:0\nproxy_protocol: 127.0.0.1\n${keys}\nroutes: [{ upstream: "${upstream.origin}" }]`);
}

/** A connection of a balancer that says first who its client is. */
function balance(port: number, first: Buffer, localAddress = '127.0.0.1'): Socket {
  const socket = connectTcp({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(first);
  return socket;
}

async function requestOn(socket: Socket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 6.6.6.6\r\nconnection: close\r\n\r\n');
  return (await collect(socket)).toString();
}

async function secure(socket: Socket, protocol: string): Promise<Socket> {
  const tls = connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  tls.on('error', () => undefined);
  await once(tls, 'secureConnect');
  return tls;
}

async function getByHttp2(socket: Socket): Promise<string> {
  const tls = await secure(socket, 'h2');
  const session = connectHttp2('https://localhost', { createConnection: () => tls });
  onTestFinished(() => session.destroy());
  return (await collect(session.request({ ':path': '/' }))).toString();
}

describe('the client behind a balancer', () => {
  it.each(['version 1', 'version 2'] as const)('is whom its PROXY header names (%s)', async (version) => {
    const { gateway, port, log } = await start();
    expect(await requestOn(balance(gateway.httpAddress!.port, header[version]))).toContain(
      '"x-forwarded-for":"192.0.2.7"',
    );
    expect(await requestOn(await secure(balance(port, header[version]), 'http/1.1'))).toContain(
      '"x-forwarded-for":"192.0.2.7"',
    );
    expect(await getByHttp2(balance(port, header[version]))).toContain('"x-forwarded-for":"192.0.2.7"');
    await vi.waitFor(
      () => expect(log.filter(({ msg, remote }) => msg === 'request' && remote === '192.0.2.7')).toHaveLength(3),
      30_000,
    );
  });

  it('may be told byte by byte, and together with what the client says', async () => {
    const { gateway } = await start();
    const slow = connectTcp(gateway.httpAddress!.port, '127.0.0.1').setNoDelay();
    onTestFinished(() => void slow.destroy());
    for (const byte of header['version 2']) {
      slow.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    expect(await requestOn(slow)).toContain('"x-forwarded-for":"192.0.2.7"');
    const request = 'GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';
    const together = balance(gateway.httpAddress!.port, Buffer.concat([header['version 1'], Buffer.from(request)]));
    expect((await collect(together)).toString()).toContain('"x-forwarded-for":"192.0.2.7"');
  });

  it('is nobody but the balancer when that asks for itself', async () => {
    const { port } = await start();
    expect(await requestOn(await secure(balance(port, header.LOCAL), 'http/1.1'))).toContain(
      '"x-forwarded-for":"127.0.0.1"',
    );
  });

  it('is forgotten with its connection', async () => {
    const { gateway, port } = await start();
    await requestOn(await secure(balance(port, header['version 2']), 'http/1.1'));
    const socket = await secure(balance(port, header.LOCAL), 'http/1.1');
    expect(await requestOn(socket)).toContain('"x-forwarded-for":"127.0.0.1"');
    await vi.waitFor(() => expect(gateway.status().tcpConnections).toBe(0), 30_000);
  });
});

describe('a connection without the header', () => {
  it('of a balancer is closed', async () => {
    const { gateway, port } = await start();
    const plain = balance(gateway.httpAddress!.port, Buffer.from('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'));
    expect((await collect(plain).catch(() => Buffer.alloc(0))).length).toBe(0);
    const tls = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await expect(once(tls, 'secureConnect')).rejects.toThrow();
    const half = balance(port, header['version 2'].subarray(0, 20));
    half.end();
    await once(half, 'close');
    await vi.waitFor(() => expect(gateway.status().tcpConnections).toBe(0), 30_000);
  });

  it('of anybody else is an ordinary one, and nobody else may send one', async () => {
    const { port, gateway } = await start();
    const direct = connectTcp({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    onTestFinished(() => void direct.destroy());
    expect(await requestOn(await secure(direct, 'http/1.1'))).toContain('"x-forwarded-for":"127.0.0.2"');
    const forged = balance(gateway.httpAddress!.port, header['version 1'], '127.0.0.2');
    expect(await requestOn(forged)).toMatch(/^HTTP\/1.1 400/);
  });

  it("is what all of UDP has: there the address is the socket's", async () => {
    const { port } = await start('', startFullGateway);
    const client = await connectHttp3(port);
    expect((await ask(client, { path: '/', headers: { 'x-forwarded-for': '6.6.6.6' } })).body.toString()).toContain(
      '"x-forwarded-for":"127.0.0.1"',
    );
  });
});

describe('a trusted proxy behind a balancer', () => {
  it('is asked only when the balancer names it', async () => {
    const { gateway } = await start('trusted_proxies: 192.0.2.0/24');
    expect(await requestOn(balance(gateway.httpAddress!.port, header['version 1']))).toContain(
      '"x-forwarded-for":"6.6.6.6"',
    );
    expect(await requestOn(balance(gateway.httpAddress!.port, header.LOCAL))).toContain(
      '"x-forwarded-for":"127.0.0.1"',
    );
  });
});
