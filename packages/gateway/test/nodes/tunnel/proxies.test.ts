import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../../src/values/free_port.js';
import { ecn, openMarkedSocket } from '../../support/marked_udp.js';
import { readAll, startTarget } from '../../support/tcp_target.js';
import { askHttp, askSocks, connectRequest, connectTo, readBytes, startTunnelPair } from '../../support/tunnel_node.js';
import { startTarget as startUdpTarget } from '../../support/udp_target.js';

const proxies = ['socks5: 127.0.0.1:0', 'http_proxy: 127.0.0.1:0'];

/** Waits for the end of a connection, in order or not. */
const ended = (socket: Socket): Promise<void> =>
  new Promise((resolve) => void socket.resume().once('end', resolve).once('close', resolve));

/** A port of TCP that nobody has */
async function unusedPort(): Promise<number> {
  const target = await startTarget();
  target.server.close();
  await once(target.server, 'close');
  return target.port;
}

it('programs that speak SOCKS5 or HTTP reach targets, with bytes that they send at once', async () => {
  const target = await startTarget();
  const { tunnel, portOf } = await startTunnelPair({ tunnel: proxies });
  const asked = [
    async () => {
      const [socket, reply] = await askSocks(portOf('socks5'), '127.0.0.1', target.port, 'early, ');
      expect(reply).toBe(0);
      return socket;
    },
    async () => {
      const [socket, head] = await askHttp(portOf('http'), `${connectRequest(`127.0.0.1:${target.port}`)}early, `);
      expect(head).toBe('HTTP/1.1 200 Connection Established\r\n\r\n');
      return socket;
    },
  ];
  for (const ask of asked) {
    const program = await ask();
    const socket = await target.accept();
    program.end('and the rest');
    expect(await readAll(socket)).toBe('early, and the rest');
    socket.end('the response');
    expect(await readAll(program)).toBe('the response');
  }
  await vi.waitFor(() => expect(tunnel.status().tcpTunnels).toMatchObject({ open: 0, answers: { 200: 2 } }), 10_000);
});

it('curl loads a page through either', async () => {
  const target = await startTarget();
  const { portOf } = await startTunnelPair({ tunnel: proxies });
  const load = async (proxy: string): Promise<string> => {
    const page = promisify(execFile)('curl', [
      '-sS',
      '--proxytunnel',
      '--proxy',
      proxy,
      `http://127.0.0.1:${target.port}/`,
    ]);
    const socket = await target.accept();
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nthe page'));
    return (await page).stdout;
  };
  expect(await load(`socks5h://127.0.0.1:${portOf('socks5')}`)).toBe('the page');
  expect(await load(`http://127.0.0.1:${portOf('http')}`)).toBe('the page');
});

it('tells programs why there is no tunnel', async () => {
  const { portOf, tunnel } = await startTunnelPair({ tunnel: proxies });
  const unused = await unusedPort();
  const replies: [host: string, port: number, reply: number, status: number, why: string][] = [
    ['127.0.0.1', unused, 5, 502, 'the target refuses the connection'],
    ['127.0.0.2', 9, 2, 403, 'the gateway permits this target not, or not from here'],
    ['no.such.name.invalid', 443, 4, 502, 'the gateway finds no address of this name'],
  ];
  for (const [host, port, reply, status, why] of replies) {
    const [socket, answered] = await askSocks(portOf('socks5'), host, port);
    expect([host, answered]).toEqual([host, reply]);
    expect(await readAll(socket)).toBe('');
    const [refused, head] = await askHttp(portOf('http'), connectRequest(`${host}:${port}`));
    // A system without a name server has no response instead of a bad one.
    expect([status, 504]).toContain(Number(head.split(' ')[1]));
    expect(await readAll(refused)).toContain(why);
  }
  expect(tunnel.status().tcpTunnels.open).toBe(0);
});

it('tells programs that the gateway cannot be reached', async () => {
  const gatewayPort = await freePort();
  const stranger = `{ address: "127.0.0.1:${gatewayPort}", certificate: { hash: "${'00'.repeat(32)}" } }`;
  const { portOf, tunnel } = await startTunnelPair({ gatewayPort, reach: stranger, tunnel: proxies });
  const [, reply] = await askSocks(portOf('socks5'), '127.0.0.1', 9);
  expect(reply).toBe(3);
  const [socket, head] = await askHttp(portOf('http'), connectRequest('127.0.0.1:9'));
  expect(head).toMatch(/^HTTP\/1\.1 50[24] /);
  expect(await readAll(socket)).toContain('the gateway cannot be reached');
  expect(tunnel.status().gateway).toMatchObject({ opened: 0, reason: expect.any(String) as string });
});

it('tells programs of a gateway without such tunnels', async () => {
  const { portOf } = await startTunnelPair({ gateway: ['routes: [{ files: . }]'], tunnel: proxies });
  const [socket, head] = await askHttp(portOf('http'), connectRequest('127.0.0.1:9'));
  expect(head).toMatch(/^HTTP\/1\.1 501 /);
  expect(await readAll(socket)).toContain('the gateway opens no tunnel (501)');
});

/** Asks by SOCKS5 for a relay of UDP. Returns the connection that it lasts as long as, and the port. */
async function askRelay(port: number): Promise<[Socket, number]> {
  const socket = await connectTo(port);
  socket.write(Buffer.from([5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]));
  const answer = await readBytes(socket, 12);
  expect([...answer.subarray(0, 10)]).toEqual([5, 0, 5, 0, 0, 1, 127, 0, 0, 1]);
  return [socket, answer.readUInt16BE(10)];
}

it('a program with a relay of UDP reaches each target by the header of its packets', async () => {
  const targets = await Promise.all(
    ['one', 'two'].map((name) => startUdpTarget((packet) => Buffer.from(`${name}: ${packet.toString()}`))),
  );
  const { portOf, tunnel } = await startTunnelPair({ tunnel: proxies });
  const [control, relay] = await askRelay(portOf('socks5'));
  const program = createSocket('udp4');
  onTestFinished(() => void program.close());
  const headers = targets.map((target) => {
    const { port } = target.address();
    return Buffer.from([0, 0, 0, 1, 127, 0, 0, 1, port >> 8, port & 0xff]);
  });
  for (const [index, name] of ['one', 'two', 'one'].entries()) {
    const header = headers[index % 2]!;
    program.send(Buffer.concat([header, Buffer.from('hello')]), relay, '127.0.0.1');
    const [reply] = (await once(program, 'message')) as [Buffer];
    expect(reply).toEqual(Buffer.concat([header, Buffer.from(`${name}: hello`)]));
  }
  expect(tunnel.status().tunnels).toMatchObject({
    ...{ open: 2, packetsToTarget: 3, bytesToTarget: 15, packetsToClient: 3, bytesToClient: 30 },
    answers: { 200: 2 },
  });
  const fragment = Buffer.concat([headers[0]!, Buffer.from('hello')]);
  fragment[2] = 1;
  program.send(fragment, relay, '127.0.0.1');
  program.send(Buffer.from('no header'), relay, '127.0.0.1');
  await vi.waitFor(
    () => expect(tunnel.status().tunnels.drops).toMatchObject({ fragment: 1, badHeader: 1, noTunnel: 0 }),
    30_000,
  );
  // A target that is not permitted gets nothing, and ends nothing.
  program.send(Buffer.from([0, 0, 0, 1, 127, 0, 0, 2, 0, 9]), relay, '127.0.0.1');
  await vi.waitFor(() => expect(tunnel.status().tunnels.answers).toEqual({ 200: 2, 403: 1 }), 30_000);
  control.end();
  await vi.waitFor(() => expect(tunnel.status().tunnels.open).toBe(0), 10_000);
});

it('packets of a relay of UDP keep their ECN marks both ways', async () => {
  const [program, target] = [await openMarkedSocket(), await openMarkedSocket()];
  const { portOf } = await startTunnelPair({ tunnel: proxies });
  const [, port] = await askRelay(portOf('socks5'));
  const header = Buffer.from([0, 0, 0, 1, 127, 0, 0, 1, target.port >> 8, target.port & 0xff]).toString('latin1');
  // The first one waits for its tunnel.
  for (const mark of [ecn.ect0, ecn.ect1, ecn.none]) {
    program.send({ port, ecn: mark, text: `${header}there` });
    const there = await target.next();
    expect(there).toMatchObject({ ecn: mark, text: 'there' });
    target.send({ port: there.port, ecn: mark, text: 'back' });
    expect(await program.next()).toEqual({ port, ecn: mark, text: `${header}back` });
  }
});

it('a relay of UDP goes on over the next connection to the gateway', async () => {
  const target = await startUdpTarget((packet) => packet);
  const pair = await startTunnelPair({ tunnel: proxies });
  const [control, relay] = await askRelay(pair.portOf('socks5'));
  const program = createSocket('udp4');
  onTestFinished(() => void program.close());
  // The port is closed for a moment when it changes its owner.
  program.on('error', () => undefined).connect(relay, '127.0.0.1');
  await once(program, 'connect');
  const { port } = target.address();
  const packet = Buffer.from([0, 0, 0, 1, 127, 0, 0, 1, port >> 8, port & 0xff, 1, 2, 3]);
  const reply = once(program, 'message');
  program.send(packet);
  expect((await reply)[0]).toEqual(packet);
  await pair.restartGateway();
  const next = once(program, 'message');
  const timer = setInterval(() => program.send(packet), 20);
  expect((await next)[0]).toEqual(packet);
  expect([control.destroyed, pair.tunnel.status().gateway.opened]).toEqual([false, 2]);
  clearInterval(timer);
  const refused = once(program, 'error');
  control.end();
  await vi.waitFor(() => expect(pair.tunnel.status().tunnels.open).toBe(0), 30_000);
  program.send(packet);
  await refused.catch((error: unknown) => expect(error).toMatchObject({ code: 'ECONNREFUSED' }));
});

describe('a program that says something else', () => {
  it('gets an explanation over HTTP, and the end of its connection', async () => {
    const { portOf, tunnel } = await startTunnelPair({ tunnel: proxies });
    const requests: [request: string, status: number, why: string][] = [
      ['GET http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\n\r\n', 501, 'CONNECT alone'],
      ['GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', 501, 'CONNECT alone'],
      ['POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 99\r\n\r\nx', 501, 'CONNECT alone'],
      [connectRequest('www.example.org'), 400, 'a host with a port'],
      [connectRequest('user@www.example.org:443'), 400, 'a host with a port'],
      ['\x05\x01\x00', 400, 'no request of HTTP/1.1'],
    ];
    for (const [request, status, why] of requests) {
      const [socket, head] = await askHttp(portOf('http'), request);
      expect(head).toContain(`HTTP/1.1 ${status} `);
      expect(await readAll(socket)).toContain(why);
    }
    expect(tunnel.status().listeners).toMatchObject([{ kind: 'socks5' }, { kind: 'http', refused: requests.length }]);
  });

  it('gets the end of its connection over SOCKS, and ends no other', async () => {
    const target = await startTarget();
    const { portOf, tunnel } = await startTunnelPair({ tunnel: proxies });
    const [other] = await askSocks(portOf('socks5'), '127.0.0.1', target.port);
    const echo = await target.accept();
    echo.pipe(echo);
    for (const bytes of [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.from([5, 1, 2]),
      Buffer.from([5, 1, 0, 5, 2, 0]),
    ]) {
      const socket = await connectTo(portOf('socks5'));
      socket.write(bytes);
      await ended(socket);
    }
    const leaving = await connectTo(portOf('socks5'));
    leaving.end(Buffer.from([5, 1]));
    await ended(leaving);
    other.write('still here');
    expect((await readBytes(other, 10)).toString()).toBe('still here');
    expect(tunnel.status().listeners).toMatchObject([{ kind: 'socks5', refused: 4, open: 1 }, { kind: 'http' }]);
  });
});
