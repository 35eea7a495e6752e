import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdir, writeFile } from 'node:fs/promises';
import { get as httpGet } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { collect, get, getByHttp2 } from '../support/client.js';
import { startGateway, type RunningGateway } from '../support/gateway.js';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { startUpstream } from '../support/upstream.js';

async function start(): Promise<
  RunningGateway & { admin(path: string, headers?: Record<string, string>): Promise<{ status: number; text: string }> }
> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'a.txt'), 'hello');
  const running = await startGateway('admin: 127.0.0.1:0\nroutes: [{ path: /s, files: ./site }]', directory);
  const admin = (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      httpGet(
        { host: '127.0.0.1', port: running.gateway.adminAddress?.port, path, headers },
        (response: IncomingMessage) => {
          collect(response).then(
            (body) => resolve({ status: response.statusCode ?? 0, text: body.toString() }),
            reject,
          );
        },
      ).once('error', reject);
    });
  return { ...running, admin };
}

describe('the admin address', () => {
  it('tells health and readiness', async () => {
    const { admin } = await start();
    expect(await admin('/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await admin('/readyz')).toEqual({ status: 200, text: 'serving\n' });
    expect(await admin('/acceptz')).toEqual({ status: 200, text: 'serving\n' });
    expect((await admin('/nope')).status).toBe(404);
    expect(await admin('/tunnels/')).toEqual({ status: 404, text: '404 Not Found: this node has no tunnels\n' });
  });

  it('bounds the time of headers, and not that of a body, which may be live', async () => {
    const { admin } = await start();
    const servers: Server[] = [];
    const note = (message: unknown) => void servers.push((message as { server: Server }).server);
    subscribe('http.server.request.start', note);
    onTestFinished(() => void unsubscribe('http.server.request.start', note));
    await admin('/healthz');
    expect(servers.map(({ requestTimeout, headersTimeout }) => [requestTimeout, headersTimeout])).toEqual([
      [0, 60_000],
    ]);
  });

  it.each([
    ['127.0.0.1:9433', 200],
    ['[::1]:9433', 200],
    ['localhost', 200],
    ['sheaf:9433', 200],
    ['gateway.internal', 200],
    ['rebound.example.com:9433', 421],
    ['127.0.0.1.example.com', 421],
    ['localhost.example.com.', 421],
    ['internal.example', 421],
  ])('asked as %s answers %i', async (host, status) => {
    const { admin } = await start();
    expect((await admin('/healthz', { host })).status).toBe(status);
  });

  it('counts requests by version, route and status', async () => {
    const { admin, port } = await start();
    await get(port, '/s/a.txt');
    await getByHttp2(port, '/s/a.txt');
    await get(port, '/elsewhere', { method: 'BREW' }).catch(() => undefined);
    await get(port, '/elsewhere');
    const { text } = await admin('/metrics');
    expect(text).toContain('sheaf_http_requests_total{http="1.1",route="/s",method="GET",status="200"} 1');
    expect(text).toContain('sheaf_http_requests_total{http="2",route="/s",method="GET",status="200"} 1');
    expect(text).toContain('sheaf_http_requests_total{http="1.1",route="none",method="GET",status="404"} 1');
    expect(text).toContain('sheaf_http_response_bytes_total{route="/s"} 10');
    expect(text).toContain('sheaf_quic_connections_open 0');
    expect(text).not.toContain('BREW');
  });

  it('shows the status', async () => {
    const { admin, port } = await start();
    await get(port, '/s/a.txt');
    expect(JSON.parse((await admin('/status')).text)).toMatchObject({
      state: 'serving',
      listen: `127.0.0.1:${port}`,
      requestsTotal: 1,
      requestsActive: 0,
    });
  });
});

describe('the access log', () => {
  it('has one line per request, without the query', async () => {
    const { port, log } = await start();
    await get(port, '/s/a.txt?token=secret', { headers: { 'user-agent': 'test' } });
    await vi.waitFor(() => expect(log.some((line) => line['msg'] === 'request')).toBe(true), 30_000);
    expect(log.find((line) => line['msg'] === 'request')).toMatchObject({
      http: '1.1',
      method: 'GET',
      path: '/s/a.txt',
      route: '/s',
      status: 200,
      bytes: 5,
      agent: 'test',
      remote: '127.0.0.1',
    });
    expect(JSON.stringify(log)).not.toContain('secret');
  });
});

describe('Server-Timing', () => {
  const own = /^sheaf-gateway;dur=\d+\.\d{3}$/;

  it('says how long a response took, whatever it is', async () => {
    const { port } = await start();
    const { headers } = await get(port, '/s/a.txt');
    expect(headers['server-timing']).toMatch(own);
    expect(
      (await get(port, '/s/a.txt', { headers: { 'if-none-match': headers.etag ?? '' } })).headers['server-timing'],
    ).toMatch(own);
    expect((await get(port, '/elsewhere')).headers['server-timing']).toMatch(own);
    expect((await getByHttp2(port, '/s/a.txt')).headers['server-timing']).toMatch(own);
  });

  it('counts the time of the upstream, and keeps what that says itself', async () => {
    const upstream = await startUpstream((_request, response) => {
      setTimeout(() => response.setHeader('server-timing', ['db;dur=5', 'app;desc="x, y"']).end(), 30);
    });
    const { port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const timing = String((await get(port, '/')).headers['server-timing']);
    expect(timing).toMatch(/^db;dur=5, app;desc="x, y", sheaf-gateway;dur=/);
    // Timers of Node may fire up to a millisecond early.
    expect(Number(/sheaf-gateway;dur=([\d.]+)/.exec(timing)?.[1])).toBeGreaterThanOrEqual(29);
  });
});

describe('Alt-Svc', () => {
  it('is not offered while nothing listens on UDP', async () => {
    const { port } = await start();
    expect((await get(port, '/s/a.txt')).headers).not.toHaveProperty('alt-svc');
  });
});
