import { randomBytes } from 'node:crypto';
import type { EndLease, Http3Client } from '@sheaf/native';
import { parsePathReports, parseResponseReports } from '@sheaf/web-client/protocol';
import { describe, expect, it, vi } from 'vitest';
import { EndClient } from '../../src/end_client/end_client.js';
import { collect, get, getByHttp2 } from '../support/client.js';
import { ask, connect } from '../support/http3_client.js';
import { startSite, type Site, type SiteDescription } from '../support/site.js';

const large = randomBytes(4_000_000);

const site = (more: Partial<SiteDescription> = {}): Promise<Site> =>
  startSite({
    routes: '[{ path: /one, ends: [end1] }, { path: /any, ends: [end1, end2, end3] }, { path: /proxied, ends: [end1], delivery: proxy }, { path: /, files: main }]',
    ends: { end1: '[{ files: files }]', end2: '[{ files: files }]', end3: '[{ files: files }]' },
    files: { 'main/index.html': 'main', 'files/one/a.bin': large, 'files/any/a.bin': large, 'files/proxied/a.bin': large, 'files/index.html': 'of an end' },
    ...more,
  });

const states = ({ gateway }: Site): (string | undefined)[] => gateway.status().ends?.map(({ state }) => state) ?? [];
const serving = (running: Site): Promise<void> => vi.waitFor(() => expect(states(running)).toEqual(['serving', 'serving', 'serving']), 10_000);
const proxied = ({ gateway }: Site): number => gateway.status().ends?.reduce((sum, end) => sum + end.proxied, 0) ?? 0;
const answered = (running: Site): number[] => Object.values(running.ends).map((end) => end.status().requestsTotal);

/** Without a choice of its own: requests name their end. */
async function connectionWithEnds(running: Site): Promise<Http3Client> {
  const connection = await connect(running.gateway.address.port, { multiEnd: true });
  connection.on('endOffered', ({ end }) => void connection.openEnd(end));
  const open = (): number => connection.status().ends.filter(({ state }) => state === 'open').length;
  await vi.waitFor(() => expect(open()).toBe(3), 10_000);
  return connection;
}

async function client(running: Site): Promise<EndClient> {
  const connection = await connect(running.gateway.address.port, { multiEnd: true });
  const ends = new EndClient(connection);
  await ends.ready(10_000);
  return ends;
}

describe('a client that speaks Multi-End', () => {
  it('gets what ends have from the ends, on its one connection', async () => {
    const running = await site();
    await serving(running);
    const ends = await client(running);
    const response = await ends.request({ path: '/one/a.bin' });
    expect(response.status).toBe(200);
    expect((await collect(response)).equals(large)).toBe(true);
    expect(proxied(running)).toBe(0);
    expect(answered(running)).toEqual([1, 0, 0]);
    // One handshake, with the gateway alone.
    expect(running.gateway.status().connections).toHaveLength(1);
    for (const end of Object.values(running.ends)) expect(end.status()).toMatchObject({ guests: 1, transport: { connectionsAccepted: 0 } });
  });

  it('still asks the gateway for what is its own, or is to be proxied', async () => {
    const running = await site();
    await serving(running);
    const ends = await client(running);
    expect((await collect(await ends.request({ path: '/index.html' }))).toString()).toBe('main');
    expect(answered(running)).toEqual([0, 0, 0]);
    expect((await collect(await ends.request({ path: '/proxied/a.bin' }))).equals(large)).toBe(true);
    expect(proxied(running)).toBe(1);
  });

  it('spreads requests that several ends answer', async () => {
    const running = await site();
    await serving(running);
    const ends = await client(running);
    const bodies = await Promise.all(Array.from({ length: 12 }, async () => collect(await ends.request({ path: '/any/a.bin' }))));
    for (const body of bodies) expect(body.equals(large)).toBe(true);
    expect(proxied(running)).toBe(0);
    for (const count of answered(running)) expect(count).toBeGreaterThan(0);
  });

  it('uploads to an end', async () => {
    const running = await site();
    await serving(running);
    const ends = await client(running);
    // Files take no uploads: the end says so after it has seen the body go by.
    const response = await ends.request({ path: '/one/a.bin', method: 'PUT', body: large });
    await collect(response);
    expect(response.status).toBe(405);
    expect(answered(running)).toEqual([1, 0, 0]);
  });

  it('is answered through the gateway by an end that has nothing of the kind', async () => {
    const running = await site({ ends: { end1: '[{ path: /one/b, files: files }]', end2: '[{ files: files }]', end3: '[{ files: files }]' } });
    await serving(running);
    const ends = await client(running);
    // The gateway sends what its map gives to end1 there again, which does not send it on.
    expect((await ends.request({ path: '/one/a.bin' })).status).toBe(404);
    expect(answered(running)[0]).toBe(2);
  });

  it('hears the route map from an end, too, which asks the gateway', async () => {
    const running = await site();
    await serving(running);
    const connection = await connectionWithEnds(running);
    const path = '/.well-known/sheaf/routes';
    const ofGateway = await ask(connection, { path });
    const ofEnd = await ask(connection, { path, end: 0 });
    expect([ofEnd.status, ofEnd.headers['etag'], ofEnd.body.toString()]).toEqual([200, ofGateway.headers['etag'], ofGateway.body.toString()]);
    expect((await ask(connection, { path, end: 1, headers: { 'if-none-match': String(ofGateway.headers['etag']) } })).status).toBe(304);
    expect((await ask(connection, { path, end: 0, method: 'POST', body: Buffer.from('{}') })).status).toBe(405);
    // Nothing else below the prefix is the gateway's at an end.
    expect((await ask(connection, { path: '/.well-known/sheaf/paths', end: 0 })).status).toBe(404);
  });

  it('hears from each end of its own lease, and of nobody else’s', async () => {
    const running = await site();
    await serving(running);
    const path = '/.well-known/sheaf/lease';
    const [one, two] = [await connectionWithEnds(running), await connectionWithEnds(running)];
    const leaseOf = async (connection: Http3Client): Promise<EndLease & { used: number }> => {
      const { status, headers, body } = await ask(connection, { path, end: 0 });
      expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
      const lease = JSON.parse(body.toString()) as Required<EndLease>;
      return { ...lease, used: lease.granted - lease.returned - lease.left };
    };
    expect((await ask(one, { path: '/one/a.bin', end: 0 })).body.equals(large)).toBe(true);
    const [first, second] = [await leaseOf(one), await leaseOf(two)];
    expect(first.used).toBeGreaterThan(large.length);
    expect(first.used).toBeLessThan(large.length + 10_000);
    expect(second.used).toBeLessThan(10_000);
    // The gateway lends to several, and an end that is asked as any server owes nobody.
    expect((await ask(one, { path })).status).toBe(404);
    const { port } = running.ends['end1']!.address;
    expect((await ask(await connect(port), { path })).status).toBe(404);
    for (const answer of [await get(port, path), await getByHttp2(port, path)]) expect(answer.status).toBe(404);
  });
});

describe('an edge', () => {
  it('asks ends for its browsers', async () => {
    const running = await site({ withEdge: true });
    await serving(running);
    const port = running.edge!.address.port;
    expect((await get(port, '/')).body.toString()).toBe('main');
    await vi.waitFor(() => expect(running.edge!.status().gateway.connection?.ends.filter(({ state }) => state === 'open')).toHaveLength(3), 10_000);
    const before = proxied(running);
    for (const body of [(await get(port, '/one/a.bin')).body, (await getByHttp2(port, '/any/a.bin')).body, (await ask(await connect(port), { path: '/any/a.bin' })).body]) {
      expect(body.equals(large)).toBe(true);
    }
    expect(proxied(running)).toBe(before);
    expect((await get(port, '/one/a.bin')).headers).not.toHaveProperty('sheaf-load');
    expect((await get(port, '/')).headers).not.toHaveProperty('sheaf-routes');
  });

  it('tells pages of the leases that its ends have', async () => {
    const running = await site({ withEdge: true });
    await serving(running);
    const port = running.edge!.address.port;
    await get(port, '/');
    const reports = async () => parsePathReports(JSON.parse((await get(port, '/.well-known/sheaf/paths')).body.toString()));
    await vi.waitFor(async () => expect((await reports()).flatMap(({ end, lease }) => (lease ? [end] : [])).sort()).toEqual([0, 1, 2]), { timeout: 20_000, interval: 50 });
    expect((await reports()).find(({ end }) => end === undefined)).not.toHaveProperty('lease');
    expect((await get(port, '/one/a.bin')).body.equals(large)).toBe(true);
    const lease = async () => (await reports()).find(({ end }) => end === 0)?.lease;
    await vi.waitFor(async () => expect((await lease())?.used).toBeGreaterThan(large.length), { timeout: 20_000, interval: 50 });
  });

  it('tells pages which server sent each response', async () => {
    const running = await site({ withEdge: true });
    await serving(running);
    const port = running.edge!.address.port;
    await get(port, '/');
    await vi.waitFor(() => expect(running.edge!.status().gateway.connection?.ends.filter(({ state }) => state === 'open')).toHaveLength(3), 10_000);
    const [page, fromEnd, carried] = [await get(port, '/'), await get(port, '/one/a.bin'), await get(port, '/proxied/a.bin')];
    const told = () => get(port, '/.well-known/sheaf/responses');
    expect((await told()).headers).toMatchObject({ 'cache-control': 'no-store', 'cross-origin-resource-policy': 'same-origin' });
    const reportOf = async ({ headers }: typeof page) => parseResponseReports(JSON.parse((await told()).body.toString())).find(({ id }) => String(id) === headers['sheaf-response']);
    // The edge learns that a body has ended a moment after it was received.
    for (const response of [page, fromEnd, carried]) await vi.waitFor(async () => expect((await reportOf(response))?.ended).toBe(true), 10_000);
    expect((await reportOf(page))?.parts).toEqual([{ bytes: 4 }]);
    expect((await reportOf(fromEnd))?.parts).toEqual([{ backend: 0, bytes: large.length }]);
    expect((await reportOf(carried))?.parts).toEqual([{ bytes: large.length }]);
    // Neither the gateway nor an edge that keeps its paths to itself.
    expect((await get(running.gateway.address.port, '/.well-known/sheaf/responses')).status).toBe(404);
    expect((await get(running.gateway.address.port, '/')).headers).not.toHaveProperty('sheaf-response');
  });

  it('finishes downloads although the end that sends them is closed', async () => {
    const running = await site({ withEdge: true });
    await serving(running);
    const port = running.edge!.address.port;
    await get(port, '/');
    await vi.waitFor(() => expect(running.edge!.status().gateway.connection?.ends.filter(({ state }) => state === 'open')).toHaveLength(3), 10_000);
    const downloads = Array.from({ length: 9 }, () => get(port, '/any/a.bin'));
    await vi.waitFor(() => expect(running.ends['end2']?.status().requestsActive).toBeGreaterThan(0), { timeout: 10_000, interval: 1 });
    await running.ends['end2']?.close(0);
    for (const { status, body } of await Promise.all(downloads)) expect([status, body.equals(large)]).toEqual([200, true]);
  });
});

describe('an end', () => {
  it('is used no more while it drains, and finishes what is under way', async () => {
    const running = await site({ gateway: ['admin: 127.0.0.1:0'] });
    await serving(running);
    const ends = await client(running);
    const first = await ends.request({ path: '/one/a.bin' });
    const admin = `http://127.0.0.1:${running.gateway.adminAddress?.port}`;
    await fetch(`${admin}/ends/end1/drain`, { method: 'POST', headers: { 'sheaf-admin': '1' } });
    await vi.waitFor(() => expect(states(running)[0]).toBe('draining'), 10_000);
    expect((await collect(first)).equals(large)).toBe(true);
    await vi.waitFor(() => expect(running.ends['end1']?.status().guests).toBe(0), 10_000);
    // It may still be asked by the gateway.
    expect((await collect(await ends.request({ path: '/one/a.bin' }))).equals(large)).toBe(true);
    expect(proxied(running)).toBe(1);
    await fetch(`${admin}/ends/end1/resume`, { method: 'POST', headers: { 'sheaf-admin': '1' } });
    await vi.waitFor(() => expect(running.ends['end1']?.status().guests).toBe(1), 15_000);
    await vi.waitFor(async () => {
      expect((await collect(await ends.request({ path: '/one/a.bin' }))).equals(large)).toBe(true);
      expect(running.ends['end1']?.status().requestsTotal).toBeGreaterThan(2);
    }, 10_000);
  });

  it('shows ends and leases in the status', async () => {
    const running = await site();
    await serving(running);
    const ends = await client(running);
    await collect(await ends.request({ path: '/one/a.bin' }));
    const [connection] = running.gateway.status().connections;
    expect(connection?.ends).toHaveLength(3);
    expect(connection?.ends.find(({ end }) => end === 0)?.lease?.granted).toBeGreaterThan(0);
    await vi.waitFor(() => expect(running.gateway.status().ends?.[0]?.bytesSent).toBeGreaterThan(large.length), 10_000);
  });
});
