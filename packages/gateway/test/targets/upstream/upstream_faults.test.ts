import type { RequestListener } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { collect, get, getByHttp2 } from '../../support/client.js';
import { startFullGateway, type RunningGateway } from '../../support/gateway.js';
import { ask, connect } from '../../support/http3_client.js';
import { startUpstream } from '../../support/upstream.js';

const statusOf = ({ gateway }: RunningGateway) => gateway.status().routes[0]!.upstreams!;

describe('what counts against an upstream:', () => {
  it('a body that it breaks off', async () => {
    const breaking = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part', () => response.destroy());
    });
    const running = await startFullGateway(`routes: [{ upstream: { to: "${breaking.origin}", retries: 0 } }]`);
    for (let index = 0; index < 3; index++) await expect(get(running.port, '/')).rejects.toThrow();
    expect(statusOf(running)).toMatchObject([{ up: false, failures: 3 }]);
  });

  it('so that three of them in a row make room for another one', async () => {
    const breaking = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part', () => response.destroy());
    });
    const whole = await startUpstream((_request, response) => void response.end('whole'));
    const { port } = await startFullGateway(`routes: [{ upstream: ["${breaking.origin}", "${whole.origin}"] }]`);
    const outcomes: string[] = [];
    for (let index = 0; index < 12; index++)
      outcomes.push(
        await get(port, '/').then(
          ({ body }) => body.toString(),
          () => 'broken',
        ),
      );
    expect(outcomes.filter((outcome) => outcome === 'broken')).toHaveLength(3);
    expect(outcomes.slice(-6)).toEqual(Array.from({ length: 6 }, () => 'whole'));
  });

  it.each(['get', 'getByHttp2'] as const)(
    'a status that no server may give, whose body nobody reads, by %s',
    async (name) => {
      const upstream = await startUpstream(
        (request, response) =>
          void response.writeHead(request.url === '/wrong' ? 999 : 200).end(Buffer.alloc(10_000_000)),
      );
      const running = await startFullGateway(
        `routes: [{ upstream: { to: "${upstream.origin}", connections: 1, retries: 0 } }]`,
      );
      const asks = { get, getByHttp2 };
      for (let index = 0; index < 3; index++) expect((await asks[name](running.port, '/wrong')).status).toBe(502);
      expect((await asks[name](running.port, '/right')).body).toHaveLength(10_000_000);
      await vi.waitFor(() => expect(statusOf(running)).toMatchObject([{ active: 0, failures: 3 }]), 30_000);
    },
  );
});

describe('what does not:', () => {
  const takeBody: RequestListener = (request, response) =>
    void request
      .on('error', () => undefined)
      .resume()
      .on('end', () => response.end('taken'));

  it('a body that the client breaks off', async () => {
    let begun = 0;
    const upstream = await startUpstream((request, response) => {
      request.once('data', () => (begun += 1));
      takeBody(request, response);
    });
    const running = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const session = connectHttp2(`https://127.0.0.1:${running.port}`, { rejectUnauthorized: false });
    const stream = session.request({ ':path': '/', ':method': 'POST' }).on('error', () => undefined);
    stream.write('x');
    const client = await connect(running.port);
    const broken = ask(client, {
      path: '/',
      method: 'POST',
      authority: 'site',
      body: Readable.from(
        (function* () {
          yield Buffer.from('x');
          throw new Error('no more');
        })(),
      ),
    });
    await expect(broken).rejects.toThrow('no more');
    await vi.waitFor(() => expect(begun).toBeGreaterThanOrEqual(1), 30_000);
    stream.close(8);
    session.destroy();
    await vi.waitFor(() => expect(statusOf(running)).toMatchObject([{ active: 0 }]), 30_000);
    expect(statusOf(running)).toMatchObject([{ up: true, failures: 0 }]);
  });

  it('a body above the limit, which is told also over HTTP/1.1', async () => {
    const upstream = await startUpstream(takeBody);
    const running = await startFullGateway(`limits: { body_size: 10KB }\nroutes: [{ upstream: "${upstream.origin}" }]`);
    const chunks = Readable.from(
      (function* () {
        for (let index = 0; index < 20; index++) yield Buffer.alloc(1_000);
      })(),
    );
    expect(await get(running.port, '/', { method: 'POST', body: chunks })).toMatchObject({
      status: 413,
      headers: { connection: 'close' },
    });
    expect(statusOf(running)).toMatchObject([{ up: true, failures: 0 }]);
  });
});

describe('a body of a method that seldom has one', () => {
  const mirror: RequestListener = (request, response) =>
    void collect(request).then((body) => response.end(`${request.method} ${body.toString()}`));
  const body = () => Readable.from([Buffer.from('its '), Buffer.from('body')]);

  it.each(['GET', 'DELETE', 'OPTIONS'])(
    'of %s reaches the upstream over HTTP/2 and HTTP/3 without its length',
    async (method) => {
      const upstream = await startUpstream(mirror);
      const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
      expect((await getByHttp2(port, '/', { method, body: body() })).body.toString()).toBe(`${method} its body`);
      expect(
        (await ask(await connect(port), { path: '/', method, authority: 'site', body: body() })).body.toString(),
      ).toBe(`${method} its body`);
    },
  );

  it('is not there when the client sends none', async () => {
    const seen: unknown[] = [];
    const upstream = await startUpstream((request, response) => {
      seen.push([request.headers['transfer-encoding'], request.headers['content-length']]);
      response.end();
    });
    const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    expect((await getByHttp2(port, '/', { method: 'DELETE' })).status).toBe(200);
    expect((await ask(await connect(port), { path: '/', method: 'GET', authority: 'site' })).status).toBe(200);
    expect(seen).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });
});

it('a server is given a pause before it is asked again for the same request', async () => {
  const times: number[] = [];
  const upstream = await startUpstream((request) => {
    times.push(performance.now());
    request.socket.destroy();
  });
  const { port } = await startFullGateway(`routes: [{ upstream: { to: "${upstream.origin}", retries: 3 } }]`);
  expect((await get(port, '/')).status).toBe(502);
  expect(times).toHaveLength(4);
  // At least half of 50, 100 and 200 ms, less what timers round.
  expect(times[3]! - times[0]!).toBeGreaterThan(170);
});
