import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { collect, get } from '../support/client.js';
import { startFullGateway, type RunningGateway } from '../support/gateway.js';
import { ask, versions } from '../support/greedy.js';
import { startPair } from '../support/nodes.js';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { startUpstream } from '../support/upstream.js';

const large = Buffer.alloc(32_000_000, 'l');

/** Takes the whole body before it answers. */
const takeBody: RequestListener = (request, response) =>
  void request
    .on('error', () => undefined)
    .resume()
    .on('end', () => response.end('taken'));

const active = ({ gateway }: RunningGateway): number => gateway.status().requestsActive;

async function ended(running: RunningGateway, reason: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${running.gateway.adminAddress?.port}/metrics`)).text();
  return Number(new RegExp(`^sheaf_slow_clients_ended_total\\{reason="${reason}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

describe.each(versions)('over HTTP/%s', (version) => {
  it('a body that does not come is answered 408, and counts against nobody', async () => {
    const upstream = await startUpstream(takeBody);
    const running = await startFullGateway(
      `admin: 127.0.0.1:0\nlimits: { body_timeout: 1s }\nroutes: [{ upstream: "${upstream.origin}" }]`,
    );
    const outcomes = await ask(version, running.port, 3, { path: '/', method: 'POST', announced: 10 });
    await vi.waitFor(() => expect(outcomes.map(({ status }) => status)).toEqual([408, 408, 408]), 30_000);
    expect(running.gateway.status().routes[0]?.upstreams?.[0]).toMatchObject({ up: true, active: 0, failures: 0 });
    expect(await ended(running, 'no_body')).toBe(3);
    expect((await get(running.port, '/', { method: 'POST', body: Buffer.from('whole') })).body.toString()).toBe(
      'taken',
    );
  });

  it.each(['files', 'upstream'] as const)('a response of %s that nobody takes is ended', async (target) => {
    const upstream = await startUpstream((_request, response) => void response.end(large));
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'large'), large);
    const running = await startFullGateway(
      `admin: 127.0.0.1:0\nlimits: { unread_timeout: 5s }\nroutes: [{ ${target === 'files' ? 'files: .' : `upstream: "${upstream.origin}"`} }]`,
      directory,
    );
    const outcomes = await ask(version, running.port, 3, { path: '/large' });
    await vi.waitFor(
      () => expect([...outcomes.map(({ status }) => status), active(running)]).toEqual([200, 200, 200, 3]),
      30_000,
    );
    await vi.waitFor(() => expect(active(running)).toBe(0), 30_000);
    expect(await ended(running, 'unread')).toBe(3);
  });
});

describe.each(versions)('an edge, over HTTP/%s,', (version) => {
  it('ends what its clients do not go on with, and serves on', async () => {
    const upstream = await startUpstream(takeBody);
    const { port, edge } = await startPair({
      gateway: [`routes: [{ path: /body, upstream: "${upstream.origin}" }, { files: site }]`],
      edge: ['limits: { unread_timeout: 2s, body_timeout: 1s }'],
      files: { large, small: 'small' },
    });
    const bodies = await ask(version, port, 3, { path: '/body', method: 'POST', announced: 10 });
    const responses = await ask(version, port, 3, { path: '/large' });
    await vi.waitFor(() => expect(bodies.map(({ status }) => status)).toEqual([408, 408, 408]), 30_000);
    await vi.waitFor(() => expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]), 30_000);
    await vi.waitFor(() => expect(edge.status().requestsActive).toBe(0), 30_000);
    expect((await get(port, '/small')).body.toString()).toBe('small');
  });
});

it('the stream of HTTP/2 goes when its body does not come', async () => {
  const upstream = await startUpstream(takeBody);
  const { port } = await startFullGateway(`limits: { body_timeout: 1s }\nroutes: [{ upstream: "${upstream.origin}" }]`);
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  const stream = session.request({ ':path': '/', ':method': 'POST' }).on('error', () => undefined);
  const closed = once(stream, 'close');
  const [head] = (await once(stream, 'response')) as [Record<string, unknown>];
  expect(head[':status']).toBe(408);
  expect((await collect(stream)).toString()).toBe('408 Request Timeout\n');
  await closed;
  expect(stream.rstCode).toBe(0);
});

describe('what is slow for a reason is left alone:', () => {
  it('a conversation in which the client has nothing to say', async () => {
    const upstream = await startUpstream((request, response) => {
      response.write('hello');
      request.pipe(response);
    });
    const { port } = await startFullGateway(
      `limits: { body_timeout: 1s, unread_timeout: 1s }\nroutes: [{ upstream: "${upstream.origin}" }]`,
    );
    const request = httpsRequest({
      host: '127.0.0.1',
      port,
      path: '/',
      method: 'POST',
      agent: false,
      rejectUnauthorized: false,
    });
    onTestFinished(() => void request.destroy());
    request.write('a');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const heard: Buffer[] = [];
    response.on('data', (chunk: Buffer) => heard.push(chunk));
    await vi.waitFor(() => expect(Buffer.concat(heard).toString()).toBe('helloa'), 30_000);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    request.end('bye');
    await once(response, 'end');
    expect(Buffer.concat(heard).toString()).toBe('helloabye');
  });

  it('an upstream that has no news, once its response has begun', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
      setTimeout(() => response.end('data: news\n\n'), 5_000);
    });
    const { port } = await startFullGateway(
      `routes: [{ upstream: { to: "${upstream.origin}", response_timeout: 3s } }]`,
    );
    expect((await get(port, '/')).body.toString()).toBe(':\n\ndata: news\n\n');
  });

  it('unless its silence has a limit', async () => {
    const upstream = await startUpstream((_request, response) => void response.write('x'));
    const { port } = await startFullGateway(
      `routes: [{ upstream: { to: "${upstream.origin}", idle_timeout: 500ms } }]`,
    );
    await expect(get(port, '/')).rejects.toThrow();
  });
});

describe('requests that find no room at an upstream', () => {
  const held: RequestListener = (_request, response) => response.flushHeaders();

  it('wait for it', async () => {
    const responses: (() => void)[] = [];
    const upstream = await startUpstream((_request, response) => void responses.push(() => response.end('done')));
    const running = await startFullGateway(`routes: [{ upstream: { to: "${upstream.origin}", connections: 1 } }]`);
    const answers = [get(running.port, '/'), get(running.port, '/')];
    await vi.waitFor(
      () =>
        expect([responses.length, running.gateway.status().routes[0]?.upstreams?.[0]]).toMatchObject([
          1,
          { active: 1, waiting: 1 },
        ]),
      30_000,
    );
    responses.shift()!();
    await vi.waitFor(() => expect(responses).toHaveLength(1), 30_000);
    responses.shift()!();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it.each([
    ['are answered 503 when the queue is full', 'queue: 0'],
    ['are answered 503 when they have waited for too long', 'queue_timeout: 300ms'],
  ])('%s', async (_title, keys) => {
    const upstream = await startUpstream(held);
    const running = await startFullGateway(
      `routes: [{ upstream: { to: "${upstream.origin}", connections: 1, ${keys} } }]`,
    );
    await ask('1.1', running.port, 1, { path: '/' });
    await vi.waitFor(
      () => expect(running.gateway.status().routes[0]?.upstreams?.[0]).toMatchObject({ active: 1 }),
      30_000,
    );
    expect(await get(running.port, '/')).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(running.gateway.status().routes[0]?.upstreams?.[0]).toMatchObject({ refused: 1, failures: 0, up: true });
  });

  it('go to another upstream that has some', async () => {
    const upstream = await startUpstream(held);
    const other = await startUpstream((_request, response) => void response.end('other'));
    const running = await startFullGateway(
      `routes: [{ upstream: { to: ["${upstream.origin}", "${other.origin}"], connections: 1 } }]`,
    );
    await ask('1.1', running.port, 1, { path: '/' });
    await vi.waitFor(
      () => expect(running.gateway.status().routes[0]?.upstreams?.[0]).toMatchObject({ active: 1 }),
      30_000,
    );
    for (let index = 0; index < 5; index++) expect((await get(running.port, '/')).body.toString()).toBe('other');
  });

  it('leave its health check alone', async () => {
    let checks = 0;
    const upstream = await startUpstream((request, response) => {
      if (request.url !== '/health') return response.flushHeaders();
      checks += 1;
      response.end();
      return undefined;
    });
    const running = await startFullGateway(
      `routes: [{ upstream: { to: "${upstream.origin}", connections: 1, health: { path: /health, interval: 100ms, timeout: 30s } } }]`,
    );
    await ask('1.1', running.port, 3, { path: '/' });
    await vi.waitFor(
      () => expect(running.gateway.status().routes[0]?.upstreams?.[0]).toMatchObject({ active: 1, waiting: 2 }),
      30_000,
    );
    const before = checks;
    await vi.waitFor(() => expect(checks).toBeGreaterThan(before + 3), 30_000);
    expect(running.gateway.status().routes[0]?.upstreams?.[0]).toMatchObject({ up: true });
  });
});

it('a client of HTTP/1.1 that has its response and does not send the rest of its body loses its connection', async () => {
  const { port } = await startFullGateway('limits: { idle: 3s }\nroutes: [{ files: . }]');
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  onTestFinished(() => void socket.destroy());
  const closed = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve));
  socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n');
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 405 /);
  // It goes on, too slowly.
  const trickle = setInterval(() => socket.write('x'), 300);
  onTestFinished(() => clearInterval(trickle));
  await closed;
});

it('a client of HTTP/1.1 that sends the rest of its body behind its response keeps its connection', async () => {
  const { port } = await startFullGateway('limits: { idle: 20s }\nroutes: [{ files: . }]');
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  const answers = (): number => received.split('HTTP/1.1 405 ').length - 1;
  socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n');
  await vi.waitFor(() => expect(answers()).toBe(1), 30_000);
  socket.write('0123456789POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n');
  await vi.waitFor(() => expect(answers()).toBe(2), 30_000);
});
