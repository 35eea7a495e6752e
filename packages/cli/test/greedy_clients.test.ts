// What a client that asks for much and takes nothing costs the gateway, as the growth of its process.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { constants, connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { ClientResponse, Http3Client } from '@sheaf/native';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, fileSize, greedy, highest, MB, startMeasured, type Measured } from './support/measured_gateway.js';

/** Asks, and leaves the responses where they are. */
function askAndIgnore(client: Http3Client, count: number, path = '/large.bin'): void {
  for (let i = 0; i < count; i++) void client.request({ path }).then(ignore, () => undefined);
}

function ignore(response: ClientResponse): void {
  response.on('error', () => undefined);
}

/** Milliseconds, the median of some. */
async function timeOfSmallRequest(client: Http3Client): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 21; i++) {
    const begun = performance.now();
    for await (const chunk of await client.request({ path: '/small.txt' })) void chunk;
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[10]!;
}

const files = '- files: .';

describe('over HTTP/3', () => {
  it('a client with 1,000 requests that reads nothing costs at most 24 MB', async () => {
    const gateway = await startMeasured(files);
    askAndIgnore(await connect(gateway.port, greedy), 1_000);
    const most = await highest(gateway);
    console.log(`one client, 1,000 requests of 3 MB: ${(most / MB).toFixed(1)} MB`);
    expect(most).toBeLessThan(24 * MB);
    // It was there, and another one is served.
    await expect.poll(async () => (await gateway.status()).requestsActive).toBeGreaterThan(50);
    const other = await connect(gateway.port);
    expect((await other.request({ path: '/small.txt' })).status).toBe(200);
  });

  it('100 such clients from one address cost at most 256 MB, and others are served meanwhile', async () => {
    const gateway = await startMeasured(files);
    const other = await connect(gateway.port, { keepAliveMs: 5_000 });
    const idle = await timeOfSmallRequest(other);
    for (let i = 0; i < 100; i++) askAndIgnore(await connect(gateway.port, greedy), 1_000);
    const most = await highest(gateway);
    const loaded = await timeOfSmallRequest(other);
    console.log(
      `100 clients: ${(most / MB).toFixed(1)} MB; 1 KB takes ${loaded.toFixed(2)} ms, ${idle.toFixed(2)} ms before`,
    );
    expect(most).toBeLessThan(256 * MB);
    const late = await connect(gateway.port);
    expect((await late.request({ path: '/small.txt' })).status).toBe(200);
  });

  it('100 that all connect before the first of them asks cost as little, and nobody else loses a connection', async () => {
    const gateway = await startMeasured(files);
    const others = await Promise.all(Array.from({ length: 10 }, () => connect(gateway.port, { keepAliveMs: 5_000 })));
    const clients = await Promise.all(
      Array.from({ length: 100 }, () => connect(gateway.port, { ...greedy, connectTimeoutMs: 60_000 })),
    );
    for (const client of clients) askAndIgnore(client, 1_000);
    const most = await highest(gateway);
    const { transport } = await gateway.status();
    const { memory_evicted: evicted, idle_evicted: idle } = transport.limitHits;
    console.log(`100 clients that were there before: ${(most / MB).toFixed(1)} MB, ${evicted} of them evicted`);
    expect(most).toBeLessThan(256 * MB);
    // Those that ask for it all at one moment may lose theirs, the slowest first.
    expect(idle).toBe(0);
    for (const other of others) expect((await other.request({ path: '/small.txt' })).status).toBe(200);
  });

  it('a client that takes its responses one after the other gets them all', async () => {
    const gateway = await startMeasured(files, 'limits: { connection_memory: 2MiB }\n');
    // The gateway holds nearly all of each response, and a round trip brings more than 1 KB of it.
    const client = await connect(gateway.port, { ...greedy, initialStreamWindow: 16_384, maxStreamWindow: 16_384 });
    const responses = await Promise.all(
      Array.from({ length: 60 }, () => client.request({ path: '/large.bin' }).catch(() => undefined)).slice(0, 8),
    );
    for (const response of responses) {
      let size = 0;
      for await (const chunk of response!) size += (chunk as Buffer).length;
      expect(size).toBe(fileSize);
    }
  });

  it('responses of an upstream that one client never reads cost at most 24 MB', async () => {
    const gateway = await startBeforeUpstream();
    askAndIgnore(await connect(gateway.port, greedy), 1_000, '/up/large.bin');
    const most = await highest(gateway);
    console.log(`1,000 unread responses of an upstream: ${(most / MB).toFixed(1)} MB`);
    expect(most).toBeLessThan(24 * MB);
    await expect.poll(async () => (await gateway.status()).requestsActive).toBeGreaterThan(50);
  });

  it('unread responses of an upstream, and bodies that are never sent, cost one client at most 24 MB', async () => {
    const gateway = await startBeforeUpstream();
    const client = await connect(gateway.port, greedy);
    askAndIgnore(client, 500, '/up/large.bin');
    const never = async function* () {
      yield Buffer.alloc(1_000);
      await new Promise(() => undefined);
    };
    for (let i = 0; i < 500; i++)
      void client.request({ path: '/up/post', method: 'POST', body: never() }).catch(() => undefined);
    const most = await highest(gateway);
    console.log(`unread responses and unsent bodies, 500 each: ${(most / MB).toFixed(1)} MB`);
    expect(most).toBeLessThan(24 * MB);
  });
});

/** Before an upstream that answers 3 MB, 1 KB when it is asked for `small`. */
async function startBeforeUpstream(): Promise<Measured> {
  const upstream = createServer((request, response) => {
    request.on('error', () => undefined).resume();
    if (request.method === 'GET') response.end(Buffer.alloc(request.url?.includes('small') ? 1_024 : fileSize));
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  onTestFinished(() => {
    upstream.close();
    upstream.closeAllConnections();
  });
  const { port } = upstream.address() as AddressInfo;
  return startMeasured(`- { path: /up, upstream: "http://127.0.0.1:${port}" }\n  ${files}`);
}

describe('over TCP', () => {
  it('an HTTP/2 client with 1,000 requests that reads nothing costs at most 24 MB', async () => {
    const gateway = await startMeasured(files);
    await ask2(gateway.port, 1_000);
    const most = await highest(gateway);
    console.log(`one HTTP/2 client: ${(most / MB).toFixed(1)} MB`);
    expect(most).toBeLessThan(24 * MB);
  });

  it('100 such clients from one address cost at most 256 MB', async () => {
    const gateway = await startMeasured(files);
    for (let i = 0; i < 100; i++) await ask2(gateway.port, 100);
    const most = await highest(gateway);
    console.log(`100 HTTP/2 clients: ${(most / MB).toFixed(1)} MB`);
    expect(most).toBeLessThan(256 * MB);
    const other = await connect(gateway.port);
    expect((await other.request({ path: '/small.txt' })).status).toBe(200);
  });

  it('100 HTTP/1.1 connections with 20 requests each, pipelined and unread, cost at most 64 MB', async () => {
    const gateway = await startMeasured(files);
    for (let i = 0; i < 100; i++) pipeline(gateway.port, 20);
    const most = await highest(gateway);
    console.log(`100 HTTP/1.1 connections: ${(most / MB).toFixed(1)} MB`);
    expect(most).toBeLessThan(64 * MB);
    await expect.poll(async () => (await gateway.status()).requestsActive).toBe(100);
  });

  it('who sends 1,000 requests ahead on a connection of HTTP/1.1 loses it', async () => {
    const gateway = await startMeasured(files);
    let closed = 0;
    for (let i = 0; i < 20; i++) pipeline(gateway.port, 1_000).once('close', () => (closed += 1));
    await expect.poll(() => closed, { timeout: 30_000 }).toBe(20);
    await expect.poll(async () => (await gateway.status()).requestsActive, { timeout: 30_000 }).toBe(0);
  });

  it('one address gets its share of connections', async () => {
    const gateway = await startMeasured(files, 'limits: { connections_per_network: 5 }\n');
    let closed = 0;
    for (let i = 0; i < 12; i++) {
      const socket = connectTls({ host: '127.0.0.1', port: gateway.port, rejectUnauthorized: false });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined).on('close', () => (closed += 1));
    }
    await expect.poll(() => closed).toBe(7);
    await expect.poll(async () => (await gateway.status()).tcpConnections).toBe(5);
  });
});

/** An HTTP/1.1 client that sends so many requests at once, and reads nothing. */
function pipeline(port: number, requests: number): TLSSocket {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).pause();
  socket.write('GET /large.bin HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(requests));
  return socket;
}

/** An HTTP/2 client whose streams take 1 KB each. */
async function ask2(port: number, requests: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    settings: { initialWindowSize: 1_024 },
  });
  onTestFinished(() => session.destroy());
  session.on('error', () => undefined);
  await new Promise((resolve) => session.once('remoteSettings', resolve));
  for (let i = 0; i < requests; i++) {
    const stream = session.request({ [constants.HTTP2_HEADER_PATH]: '/large.bin' });
    stream.on('error', () => undefined).pause();
  }
  return session;
}
