import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { writeFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseConfiguration } from '../../../src/configuration/load.js';
import type { LoadedEdge, LoadedGateway } from '../../../src/schema/loaded.js';
import { Edge } from '../../../src/nodes/edge/edge.js';
import { Gateway } from '../../../src/nodes/gateway.js';
import { collect, get, getByHttp2 } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { startPair } from '../../support/nodes.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';
import { freePort } from '../../../src/values/free_port.js';
import { startUpstream } from '../../support/upstream.js';

const large = randomBytes(3_000_000);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const site = { gateway: ['routes: [{ files: site }]'], files: { 'large.bin': large, 'index.html': 'the page' } };

/** Answers with what arrived. */
function mirror(request: IncomingMessage, response: ServerResponse): void {
  void collect(request).then((body) => {
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.setHeader('alt-svc', 'h3=":1"');
    response.end(
      JSON.stringify({ method: request.method, url: request.url, headers: request.headers, sha256: sha256(body) }),
    );
  });
}

describe('a request through an edge', () => {
  it('is answered over HTTP/3, HTTP/2 and HTTP/1.1', async () => {
    const { port } = await startPair(site);
    const client = await connect(port);
    for (const body of [
      (await ask(client, { path: '/large.bin' })).body,
      (await getByHttp2(port, '/large.bin')).body,
      (await get(port, '/large.bin')).body,
    ]) {
      expect(sha256(body)).toBe(sha256(large));
    }
    expect(await ask(client, { path: '/' })).toMatchObject({ status: 200, body: Buffer.from('the page') });
  });

  it('says how long both nodes took', async () => {
    const { port } = await startPair(site);
    const [gateway, edge] =
      /^sheaf-gateway;dur=([\d.]+), sheaf-edge;dur=([\d.]+)$/
        .exec(String((await get(port, '/')).headers['server-timing']))
        ?.slice(1)
        .map(Number) ?? [];
    // The edge counts the way and the gateway's part too.
    expect(edge).toBeGreaterThan(gateway ?? Infinity);
  });

  it('keeps status, ranges, conditions and HEAD', async () => {
    const { port } = await startPair(site);
    const part = await get(port, '/large.bin', { headers: { range: 'bytes=1000-1999' } });
    expect(part).toMatchObject({ status: 206, headers: { 'content-range': `bytes 1000-1999/${large.length}` } });
    expect(part.body.equals(large.subarray(1000, 2000))).toBe(true);
    expect((await get(port, '/none')).status).toBe(404);
    const head = await get(port, '/large.bin', { method: 'HEAD' });
    expect(head).toMatchObject({
      status: 200,
      headers: { 'content-length': String(large.length) },
      body: Buffer.alloc(0),
    });
    const { etag = '' } = head.headers;
    expect((await get(port, '/large.bin', { headers: { 'if-none-match': etag } })).status).toBe(304);
  });

  it('brings its body and its headers, and says that it was forwarded', async () => {
    const upstream = await startUpstream(mirror);
    const { port } = await startPair({ gateway: [`routes: [{ upstream: "${upstream.origin}" }]`] });
    const answer = await get(port, '/x?y=1', {
      method: 'POST',
      headers: { host: 'example.com', 'x-own': 'value', 'x-forwarded-for': '6.6.6.6', te: 'trailers' },
      body: large,
    });
    const seen = JSON.parse(answer.body.toString()) as { headers: Record<string, string> };
    expect(seen).toMatchObject({ method: 'POST', url: '/x?y=1', sha256: sha256(large) });
    expect(seen.headers).toMatchObject({
      host: 'example.com',
      'x-own': 'value',
      'x-forwarded-host': 'example.com',
      via: '1.1 sheaf, 3 sheaf',
    });
    expect(seen.headers).not.toHaveProperty('te');
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    // That of the edge, not of anything behind it.
    expect(answer.headers['alt-svc']).toContain(`:${port}"`);
    const client = await connect(port);
    const uploaded = await ask(client, {
      path: '/',
      method: 'PUT',
      body: Readable.from([large.subarray(0, 1_000_000), large.subarray(1_000_000)]),
    });
    expect(JSON.parse(uploaded.body.toString())).toMatchObject({ method: 'PUT', sha256: sha256(large) });
  });

  it('travels with all others over one connection', async () => {
    const { port, gateway, edge } = await startPair(site);
    expect(edge.status().gateway).toMatchObject({ state: 'idle', opened: 0 });
    const clients = await Promise.all([connect(port), connect(port), connect(port)]);
    await Promise.all(clients.flatMap((client) => Array.from({ length: 20 }, () => ask(client, { path: '/' }))));
    expect(gateway.status().connections).toHaveLength(1);
    expect(gateway.status().requestsTotal).toBe(60);
    expect(edge.status()).toMatchObject({
      node: 'laptop',
      role: 'edge',
      gateway: { state: 'open', opened: 1, connections: [{ paths: [{ id: 0 }] }] },
    });
  });

  it('holds back the sender while the reader is slow', async () => {
    let written = 0;
    const upstream = await startUpstream((_request, response) => {
      const chunk = Buffer.alloc(64 * 1024);
      const send = (): void => {
        while (written < 256 * 2 ** 20) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', send);
        }
        response.end();
      };
      send();
    });
    const { port } = await startPair({ gateway: [`routes: [{ upstream: "${upstream.origin}" }]`] });
    const client = await connect(port, { maxStreamWindow: 2 ** 20, maxConnectionWindow: 2 ** 20 });
    const response = await client.request({ path: '/' });
    let before = -1;
    await vi.waitFor(
      () => {
        const settled = written > 0 && written === before;
        before = written;
        expect(settled).toBe(true);
      },
      { timeout: 30_000, interval: 500 },
    );
    expect(written).toBeLessThan(128 * 2 ** 20);
    response.destroy();
  });
});

describe('a request that is abandoned', () => {
  it('by the client ends at the upstream, too', async () => {
    const closed = vi.fn();
    const upstream = await startUpstream((request, response) => {
      response.once('close', closed);
      response.write('beginning');
      request.resume();
    });
    const { port, log } = await startPair({ gateway: [`routes: [{ upstream: "${upstream.origin}" }]`] });
    const client = await connect(port);
    const response = await client.request({ path: '/' });
    response.once('data', () => response.destroy());
    await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 30_000);
    expect(log.filter((line) => line['level'] === 50)).toEqual([]);
  });

  it('by the client before any answer ends at the upstream, too', async () => {
    const [arrived, closed] = [vi.fn(), vi.fn()];
    const upstream = await startUpstream((_request, response) => {
      response.once('close', closed);
      arrived();
    });
    const { port } = await startPair({ gateway: [`routes: [{ upstream: "${upstream.origin}" }]`] });
    const request = httpsRequest({ host: '127.0.0.1', port, path: '/', rejectUnauthorized: false }).on(
      'error',
      () => undefined,
    );
    request.end();
    await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), 30_000);
    request.destroy();
    await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 30_000);
  });

  it('by the upstream is reset for the client', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.write('beginning');
      setTimeout(() => response.destroy(), 100);
    });
    const { port, edge } = await startPair({ gateway: [`routes: [{ upstream: "${upstream.origin}" }]`] });
    const client = await connect(port);
    await expect(ask(client, { path: '/' })).rejects.toMatchObject({ code: 'STREAM_RESET' });
    expect(edge.status().gateway.state).toBe('open');
  });
});

describe('a gateway that is away', () => {
  it('is said to be so, and is found again when it is back', async () => {
    const gatewayPort = await freePort();
    const { port, gateway, edge, loaded } = await startPair({ ...site, gatewayPort });
    expect((await get(port, '/')).body.toString()).toBe('the page');
    await gateway.close(0);
    const answer = await get(port, '/');
    expect([502, 504]).toContain(answer.status);
    expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    expect(answer.body.toString()).toContain(`127.0.0.1:${gatewayPort}`);
    expect(edge.status().gateway).toMatchObject({ reason: expect.any(String) as string });
    const again = await Gateway.start(
      loaded.nodes.find((node): node is LoadedGateway => node.role === 'gateway')!,
      { logStream: { write: () => true } },
    );
    onTestFinished(() => again.close(0));
    await vi.waitFor(async () => expect((await get(port, '/')).body.toString()).toBe('the page'), {
      timeout: 30_000,
      interval: 100,
    });
    expect(edge.status().gateway).toMatchObject({ state: 'open', opened: 2 });
  });

  it('costs a request that can be repeated nothing when it comes back at once', async () => {
    const gatewayPort = await freePort();
    const { port, gateway, loaded } = await startPair({ ...site, gatewayPort });
    expect((await get(port, '/')).status).toBe(200);
    await gateway.close(0);
    const again = await Gateway.start(
      loaded.nodes.find((node): node is LoadedGateway => node.role === 'gateway')!,
      { logStream: { write: () => true } },
    );
    onTestFinished(() => again.close(0));
    expect((await get(port, '/')).body.toString()).toBe('the page');
  });
});

describe('an edge by itself', () => {
  const start = async (gateway: string, directory?: string): Promise<Edge> => {
    const home = directory ?? (await temporaryDirectory());
    const { nodes } = parseConfiguration(
      `nodes: { laptop: { role: edge, listen: "127.0.0.1:0", gateway: ${gateway} } }`,
      join(home, 'sheaf.yaml'),
    );
    const edge = await Edge.start(nodes[0] as LoadedEdge, { logStream: { write: () => true } });
    onTestFinished(() => edge.close(0));
    return edge;
  };

  it('knows its gateway by the hash or the authority of its certificate, or by nothing', async () => {
    const { gateway, directory } = await startPair(site);
    const address = `127.0.0.1:${gateway.address.port}`;
    const page = async (edge: Edge) => (await get(edge.address.port, '/')).body.toString();
    await writeFile(join(directory, 'ca.pem'), gateway.certificate.pair.certificate);
    expect(
      await page(await start(`{ address: "${address}", certificate: { hash: ${gateway.certificate.hash} } }`)),
    ).toBe('the page');
    expect(
      await page(
        await start(`{ address: "${address}", certificate: { ca: ca.pem }, server_name: localhost }`, directory),
      ),
    ).toBe('the page');
    expect(await page(await start(`{ address: "${address}", certificate: insecure }`))).toBe('the page');
  });

  it('does not talk to another one', async () => {
    const { gateway } = await startPair(site);
    const edge = await start(
      `{ address: "127.0.0.1:${gateway.address.port}", certificate: { hash: ${'ab'.repeat(32)} } }`,
    );
    const answer = await get(edge.address.port, '/');
    expect(answer.status).toBe(502);
    expect(answer.body.toString()).toContain('certificate');
    expect(gateway.status().requestsTotal).toBe(0);
  });

  it('gives up in time when nobody answers', async () => {
    // A port that takes datagrams and says nothing.
    const { createSocket } = await import('node:dgram');
    const silent = createSocket('udp4');
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const edge = await start(`{ address: "127.0.0.1:${silent.address().port}", certificate: insecure }`);
    expect(await get(edge.address.port, '/')).toMatchObject({ status: 504 });
  });
});
