import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp, createServer as createTcpServer, type AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { GatewayStatus } from '../../../src/observability/status.js';
import { collect, get, getByHttp2 } from '../../support/client.js';
import { startGateway } from '../../support/gateway.js';
import { freePort } from '../../../src/values/free_port.js';
import { startUpstream } from '../../support/upstream.js';

/** Answers with what arrived. */
function mirror(request: IncomingMessage, response: ServerResponse): void {
  void collect(request).then((body) => {
    response.setHeader('content-type', 'application/json');
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.setHeader('keep-alive', 'timeout=99');
    response.end(
      JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body: body.toString() }),
    );
  });
}

describe('a forwarded request', () => {
  it('keeps method, path, query, headers and body', async () => {
    const upstream = await startUpstream(mirror);
    const { port } = await startGateway(`routes: [{ path: /api/, upstream: "${upstream.origin}" }]`);
    const answer = await get(port, '/api/x?y=1&z', {
      method: 'POST',
      headers: { host: 'example.com', 'x-own': 'value' },
      body: Buffer.from('hello'),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    const seen = JSON.parse(answer.body.toString()) as { headers: Record<string, string> };
    expect(seen).toMatchObject({ method: 'POST', url: '/api/x?y=1&z', body: 'hello' });
    expect(seen.headers).toMatchObject({
      host: 'example.com',
      'x-own': 'value',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'example.com',
      via: '1.1 sheaf',
    });
  });

  it('leaves out what speaks about one connection, and what a client could claim', async () => {
    const upstream = await startUpstream(mirror);
    const { port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const headers = {
      connection: 'close, x-private',
      'x-private': '1',
      te: 'trailers',
      'proxy-authorization': 'x',
      'x-forwarded-for': '6.6.6.6',
      'x-real-ip': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
    };
    const answer = await get(port, '/', { headers });
    const seen = (JSON.parse(answer.body.toString()) as { headers: Record<string, string> }).headers;
    expect(seen).not.toHaveProperty('x-private');
    expect(seen).not.toHaveProperty('te');
    expect(seen).not.toHaveProperty('proxy-authorization');
    expect(seen).not.toHaveProperty('forwarded');
    expect(seen).not.toHaveProperty('x-real-ip');
    expect(seen['x-forwarded-for']).toBe('127.0.0.1');
    expect(answer.headers).not.toHaveProperty('keep-alive', 'timeout=99');
  });

  it('may bring a response whose fields stand twice', async () => {
    const upstream = await startUpstream((_request, response) =>
      response
        .writeHead(
          200,
          [
            ['etag', '"a"'],
            ['x-own', '1'],
            ['etag', '"b"'],
            ['x-own', '2'],
          ].flat(),
        )
        .end('body'),
    );
    const { port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const answer = await getByHttp2(port, '/');
    expect(answer).toMatchObject({
      status: 200,
      headers: { etag: '"a", "b"', 'x-own': '1, 2' },
      body: Buffer.from('body'),
    });
  });

  it('joins the cookies of HTTP/2', async () => {
    const upstream = await startUpstream(mirror);
    const { port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const answer = await getByHttp2(port, '/', { headers: { cookie: 'a=1; b=2' } });
    const seen = (JSON.parse(answer.body.toString()) as { headers: Record<string, string> }).headers;
    expect(seen['cookie']).toBe('a=1; b=2');
    expect(seen['via']).toBe('2 sheaf');
  });

  it('streams both ways at the same time', async () => {
    const upstream = await startUpstream((request, response) => {
      response.flushHeaders();
      request.pipe(response);
    });
    const { port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const request = httpsRequest({
      host: '127.0.0.1',
      port,
      path: '/',
      method: 'POST',
      agent: false,
      rejectUnauthorized: false,
    });
    request.write('one');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(String(((await once(response, 'data')) as [Buffer])[0])).toBe('one');
    request.write('two');
    expect(String(((await once(response, 'data')) as [Buffer])[0])).toBe('two');
    request.end();
    await once(response, 'end');
  });

  it('carries a large body unchanged over both TCP versions', async () => {
    const upstream = await startUpstream((request, response) => void request.pipe(response));
    const { port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const body = randomBytes(8 * 2 ** 20);
    for (const ask of [get, getByHttp2]) {
      const answer = await ask(port, '/', { method: 'PUT', body });
      expect(answer.body.equals(body)).toBe(true);
    }
  });

  it('ends at the upstream when the client goes away', async () => {
    const closed = vi.fn();
    const arrived = new PassThrough();
    const upstream = await startUpstream((request, response) => {
      response.on('close', closed);
      arrived.write('x');
      request.resume();
    });
    const { port, log } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const request = httpsRequest({ host: '127.0.0.1', port, path: '/', agent: false, rejectUnauthorized: false }).on(
      'error',
      () => undefined,
    );
    request.end();
    await once(arrived, 'data');
    request.destroy();
    await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 30_000);
    await vi.waitFor(
      () => expect(log).toContainEqual(expect.objectContaining({ msg: 'request', aborted: true })),
      30_000,
    );
  });
});

describe('the size of a body', () => {
  it('is refused by its declared length', async () => {
    const reached = vi.fn();
    const upstream = await startUpstream((_request, response) => {
      reached();
      response.end();
    });
    const { port } = await startGateway(`limits: { body_size: 10B }\nroutes: [{ upstream: "${upstream.origin}" }]`);
    expect((await get(port, '/', { method: 'POST', body: Buffer.alloc(11) })).status).toBe(413);
    expect(reached).not.toHaveBeenCalled();
    expect((await get(port, '/', { method: 'POST', body: Buffer.alloc(10) })).status).toBe(200);
  });

  it('is refused while it streams', async () => {
    const upstream = await startUpstream((request, response) => {
      request
        .on('error', () => undefined)
        .resume()
        .on('end', () => response.end());
    });
    const { port } = await startGateway(`limits: { body_size: 100KB }\nroutes: [{ upstream: "${upstream.origin}" }]`);
    const endless = Readable.from(
      (function* () {
        for (let index = 0; index < 100; index++) yield Buffer.alloc(10_000);
      })(),
    );
    expect((await getByHttp2(port, '/', { method: 'POST', body: endless })).status).toBe(413);
  });
});

describe('failures', () => {
  it('starts with a warning while an upstream is down, and answers 502', async () => {
    const down = await freePort();
    const { gateway, port } = await startGateway(`routes: [{ upstream: "http://127.0.0.1:${down}" }]`);
    expect(gateway.warnings).toEqual([`upstream http://127.0.0.1:${down} does not answer yet (connection refused)`]);
    expect((await get(port, '/')).status).toBe(502);
  });

  it('retries on another upstream, also a request with a body that was not sent yet', async () => {
    const down = await freePort();
    const upstream = await startUpstream(mirror);
    const { port } = await startGateway(`routes: [{ upstream: ["http://127.0.0.1:${down}", "${upstream.origin}"] }]`);
    for (let index = 0; index < 6; index++) {
      const answer = await get(port, '/', index % 2 === 0 ? {} : { method: 'POST', body: Buffer.from('once') });
      expect(answer.status).toBe(200);
    }
  });

  it.each([
    ['GET', 2],
    ['POST', 1],
  ])('%s reaches an upstream that breaks off %i times', async (method, expected) => {
    let requests = 0;
    const upstream = await startUpstream((request) => {
      requests += 1;
      request.socket.destroy();
    });
    const { port } = await startGateway(`routes: [{ upstream: { to: "${upstream.origin}", retries: 1 } }]`);
    expect((await get(port, '/', { method })).status).toBe(502);
    expect(requests).toBe(expected);
  });

  it('answers 504 when the upstream takes too long', async () => {
    const upstream = await startUpstream(() => undefined);
    const { port } = await startGateway(
      `routes: [{ upstream: { to: "${upstream.origin}", response_timeout: 200ms } }]`,
    );
    expect((await get(port, '/')).status).toBe(504);
  });

  it('breaks the response off when the upstream breaks off in the middle', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part', () => response.destroy());
    });
    const { port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    await expect(get(port, '/')).rejects.toThrow();
    await expect(getByHttp2(port, '/')).rejects.toThrow();
  });

  it('survives an upstream that does not speak HTTP', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => undefined).end('garbage\r\n\r\n'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = await startGateway(
      `routes: [{ upstream: "http://127.0.0.1:${(server.address() as AddressInfo).port}" }]`,
    );
    expect((await get(port, '/')).status).toBe(502);
  });
});

describe('several upstreams', () => {
  async function startThree() {
    const hits = new Map<string, number>();
    const upstreams = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        startUpstream((_request, response) => {
          hits.set(name, (hits.get(name) ?? 0) + 1);
          response.end(name);
        }),
      ),
    );
    return { hits, to: JSON.stringify(upstreams.map(({ origin }) => origin)), upstreams };
  }

  it('take turns', async () => {
    const { hits, to } = await startThree();
    const { port } = await startGateway(`routes: [{ upstream: ${to} }]`);
    for (let index = 0; index < 9; index++) await get(port, '/');
    expect(Object.fromEntries(hits)).toEqual({ a: 3, b: 3, c: 3 });
  });

  it('keep a client with client_address', async () => {
    const { hits, to } = await startThree();
    const { port } = await startGateway(`routes: [{ upstream: { to: ${to}, balance: client_address } }]`);
    for (let index = 0; index < 9; index++) await get(port, '/');
    expect([...hits.values()]).toEqual([9]);
  });

  it('get the next request where the least are in flight', async () => {
    const { hits, to } = await startThree();
    const { port } = await startGateway(`routes: [{ upstream: { to: ${to}, balance: least_requests } }]`);
    await Promise.all(Array.from({ length: 30 }, () => get(port, '/')));
    expect(Math.min(...hits.values())).toBeGreaterThan(0);
  });

  it('are left alone while their health check fails, and used again when it succeeds', async () => {
    let healthy = false;
    const served = vi.fn();
    const sick = await startUpstream((request, response) => {
      if (request.url === '/health') response.statusCode = healthy ? 200 : 503;
      else served();
      response.end('sick');
    });
    const well = await startUpstream((_request, response) => void response.end('well'));
    const { port, gateway } = await startGateway(
      `routes: [{ upstream: { to: ["${sick.origin}", "${well.origin}"], health: { path: /health, interval: 50ms } } }]`,
    );
    for (let index = 0; index < 4; index++) expect((await get(port, '/')).body.toString()).toBe('well');
    expect(served).not.toHaveBeenCalled();
    expect(gateway.status().routes[0]?.upstreams?.map(({ up }) => up)).toEqual([false, true]);
    healthy = true;
    await vi.waitFor(() => expect(gateway.status().routes[0]?.upstreams?.[0]?.up).toBe(true), 30_000);
    await Promise.all([get(port, '/'), get(port, '/')]);
    expect(served).toHaveBeenCalled();
  });
});

describe('the status of an upstream', () => {
  async function startWithAdmin(route: string) {
    const running = await startGateway(`admin: 127.0.0.1:0\nroutes: [{ upstream: ${route} }]`);
    const upstreams = async () => {
      const answer = await fetch(`http://127.0.0.1:${running.gateway.adminAddress?.port}/status`);
      return ((await answer.json()) as GatewayStatus).routes[0]?.upstreams;
    };
    return { ...running, upstreams };
  }

  it('is down, with since and reason, from the start', async () => {
    const before = Date.now();
    const { upstreams } = await startWithAdmin(`"http://127.0.0.1:${await freePort()}"`);
    const [status] = (await upstreams()) ?? [];
    expect(status).toMatchObject({ up: false, reason: 'connection refused' });
    expect(Date.parse(status?.since ?? '')).toBeGreaterThanOrEqual(before);
  });

  it('turns without a request and without health checks, and keeps its since', async () => {
    const upstream = await startUpstream(mirror);
    const { upstreams } = await startWithAdmin(`"${upstream.origin}"`);
    const [up] = (await upstreams()) ?? [];
    expect(up).toMatchObject({ up: true });
    expect(up).not.toHaveProperty('reason');
    await upstream.stop();
    await vi.waitFor(
      async () => expect((await upstreams())?.[0]).toMatchObject({ up: false, reason: 'connection refused' }),
      { timeout: 30_000, interval: 200 },
    );
    const since = (await upstreams())?.[0]?.since;
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect((await upstreams())?.[0]?.since).toBe(since);
    await startUpstream(mirror, upstream.port);
    await vi.waitFor(async () => expect((await upstreams())?.[0]?.up).toBe(true), { timeout: 30_000, interval: 200 });
  });

  it('is 0 or 1 in the metrics, also behind two routes', async () => {
    const upstream = await startUpstream(mirror);
    const { gateway } = await startGateway(
      `admin: 127.0.0.1:0\nroutes: [{ path: /a, upstream: "${upstream.origin}" }, { path: /b, upstream: "${upstream.origin}" }]`,
    );
    const text = await (await fetch(`http://127.0.0.1:${gateway.adminAddress?.port}/metrics`)).text();
    expect(text).toContain(`sheaf_upstream_up{upstream="${upstream.origin}"} 1`);
  });

  it('says what the health check received', async () => {
    const sick = await startUpstream((_request, response) => void response.writeHead(503).end());
    const { upstreams } = await startWithAdmin(`{ to: "${sick.origin}", health: { path: /ok } }`);
    expect((await upstreams())?.[0]).toMatchObject({ up: false, reason: '/ok answered 503' });
  });
});

describe('hostile requests', () => {
  it('cannot smuggle a second request to the upstream', async () => {
    const seen: (string | undefined)[] = [];
    const upstream = await startUpstream((request, response) => {
      seen.push(request.url);
      request.resume().on('end', () => response.end());
    });
    const { gateway } = await startGateway(`http: 127.0.0.1:0\nroutes: [{ upstream: "${upstream.origin}" }]`);
    const socket = connectTcp(gateway.httpAddress?.port ?? 0, '127.0.0.1');
    socket.end(
      'POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    await collect(socket);
    expect(seen).not.toContain('/smuggled');
  });
});
