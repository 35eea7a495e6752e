import { randomBytes } from 'node:crypto';
import type { BackendLease, Http3Client } from '@sheaf/native';
import { parsePathReports, parseResponseReports } from '@sheaf/web-client/protocol';
import { describe, expect, it, vi } from 'vitest';
import { BackendClient } from '../../../src/multi_end/client/backend_client.js';
import { collect, get, getByHttp2 } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { startSite, type Site, type SiteDescription } from '../../support/site.js';

const large = randomBytes(4_000_000);

const site = (more: Partial<SiteDescription> = {}): Promise<Site> =>
  startSite({
    routes:
      '[{ path: /one, backends: [backend1] }, { path: /any, backends: [backend1, backend2, backend3] }, { path: /proxied, backends: [backend1], delivery: proxy }, { path: /, files: main }]',
    backends: { backend1: '[{ files: files }]', backend2: '[{ files: files }]', backend3: '[{ files: files }]' },
    files: {
      'main/index.html': 'main',
      'files/one/a.bin': large,
      'files/any/a.bin': large,
      'files/proxied/a.bin': large,
      'files/index.html': 'of a backend',
    },
    ...more,
  });

const states = ({ gateway }: Site): (string | undefined)[] =>
  gateway.status().backends?.map(({ state }) => state) ?? [];
const serving = (running: Site): Promise<void> =>
  vi.waitFor(() => expect(states(running)).toEqual(['serving', 'serving', 'serving']), 30_000);
const proxied = ({ gateway }: Site): number =>
  gateway.status().backends?.reduce((sum, backend) => sum + backend.proxied, 0) ?? 0;
const answered = (running: Site): number[] =>
  Object.values(running.backends).map((backend) => backend.status().requestsTotal);

/** Without a choice of its own: requests name their backend. */
async function connectionWithBackends(running: Site): Promise<Http3Client> {
  const connection = await connect(running.gateway.address.port, { multiEnd: true });
  connection.on('backendOffered', ({ backend }) => void connection.openBackend(backend));
  const open = (): number => connection.status().backends.filter(({ state }) => state === 'open').length;
  await vi.waitFor(() => expect(open()).toBe(3), 30_000);
  return connection;
}

async function client(running: Site): Promise<BackendClient> {
  const connection = await connect(running.gateway.address.port, { multiEnd: true });
  const backends = new BackendClient(connection);
  await backends.ready(60_000);
  return backends;
}

describe('a client that speaks Multi-End', () => {
  it('gets what backends have from the backends, on its one connection', async () => {
    const running = await site();
    await serving(running);
    const backends = await client(running);
    const response = await backends.request({ path: '/one/a.bin' });
    expect(response.status).toBe(200);
    expect((await collect(response)).equals(large)).toBe(true);
    expect(proxied(running)).toBe(0);
    expect(response.headers['server-timing']).toMatch(/sheaf-delivery;desc="path backend1"$/);
    await vi.waitFor(
      () =>
        expect(running.log).toContainEqual(
          expect.objectContaining({ path: '/one/a.bin', delivery: 'path', backend: 'backend1' }),
        ),
      30_000,
    );
    expect(answered(running)).toEqual([1, 0, 0]);
    // One handshake, with the gateway alone.
    expect(running.gateway.status().connections).toHaveLength(1);
    for (const backend of Object.values(running.backends))
      expect(backend.status()).toMatchObject({ guests: 1, transport: { connectionsAccepted: 0 } });
  });

  it('still asks the gateway for what is its own, or is to be proxied', async () => {
    const running = await site();
    await serving(running);
    const backends = await client(running);
    expect((await collect(await backends.request({ path: '/index.html' }))).toString()).toBe('main');
    expect(answered(running)).toEqual([0, 0, 0]);
    expect((await collect(await backends.request({ path: '/proxied/a.bin' }))).equals(large)).toBe(true);
    expect(proxied(running)).toBe(1);
  });

  it('spreads requests that several backends answer', async () => {
    const running = await site();
    await serving(running);
    const connection = await connect(running.gateway.address.port, { multiEnd: true });
    const backends = new BackendClient(connection);
    await backends.ready(60_000);
    // Of backends that look far, it asks none: one may, where the process did not run while its path was opened.
    await vi.waitFor(async () => {
      await Promise.all([0, 1, 2].map((backend) => ask(connection, { path: '/any/a.bin', backend })));
      const roundTrips = connection.status().backends.map(({ smoothedRttMs }) => smoothedRttMs);
      expect(Math.max(...roundTrips)).toBeLessThan(3 * Math.min(...roundTrips));
    }, 60_000);
    const before = answered(running);
    const bodies = await Promise.all(
      Array.from({ length: 12 }, async () => collect(await backends.request({ path: '/any/a.bin' }))),
    );
    for (const body of bodies) expect(body.equals(large)).toBe(true);
    expect(proxied(running)).toBe(0);
    for (const [backend, count] of answered(running).entries()) expect(count).toBeGreaterThan(before[backend]!);
  });

  it('uploads to a backend', async () => {
    const running = await site();
    await serving(running);
    const backends = await client(running);
    // Files take no uploads: the backend says so after it has seen the body go by.
    const response = await backends.request({ path: '/one/a.bin', method: 'PUT', body: large });
    await collect(response);
    expect(response.status).toBe(405);
    expect(answered(running)).toEqual([1, 0, 0]);
  });

  it('is answered through the gateway by a backend that has nothing of the kind', async () => {
    const running = await site({
      backends: {
        backend1: '[{ path: /one/b, files: files }]',
        backend2: '[{ files: files }]',
        backend3: '[{ files: files }]',
      },
    });
    await serving(running);
    const backends = await client(running);
    // The gateway sends what its map gives to backend1 there again, which does not send it on.
    expect((await backends.request({ path: '/one/a.bin' })).status).toBe(404);
    expect(answered(running)[0]).toBe(2);
  });

  it('hears the route map from a backend, too, which asks the gateway', async () => {
    const running = await site();
    await serving(running);
    const connection = await connectionWithBackends(running);
    const path = '/.well-known/sheaf/routes';
    const ofGateway = await ask(connection, { path });
    const ofBackend = await ask(connection, { path, backend: 0 });
    expect([ofBackend.status, ofBackend.headers['etag'], ofBackend.body.toString()]).toEqual([
      200,
      ofGateway.headers['etag'],
      ofGateway.body.toString(),
    ]);
    expect(
      (await ask(connection, { path, backend: 1, headers: { 'if-none-match': String(ofGateway.headers['etag']) } }))
        .status,
    ).toBe(304);
    expect((await ask(connection, { path, backend: 0, method: 'POST', body: Buffer.from('{}') })).status).toBe(405);
    // Nothing else below the prefix is the gateway's at a backend.
    expect((await ask(connection, { path: '/.well-known/sheaf/paths', backend: 0 })).status).toBe(404);
  });

  it('hears from each backend of its own lease, and of nobody else’s', async () => {
    const running = await site();
    await serving(running);
    const path = '/.well-known/sheaf/lease';
    const [one, two] = [await connectionWithBackends(running), await connectionWithBackends(running)];
    const leaseOf = async (connection: Http3Client): Promise<BackendLease & { used: number }> => {
      const { status, headers, body } = await ask(connection, { path, backend: 0 });
      expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
      const lease = JSON.parse(body.toString()) as Required<BackendLease>;
      return { ...lease, used: lease.granted - lease.returned - lease.left };
    };
    expect((await ask(one, { path: '/one/a.bin', backend: 0 })).body.equals(large)).toBe(true);
    const [first, second] = [await leaseOf(one), await leaseOf(two)];
    expect(first.used).toBeGreaterThan(large.length);
    // Less than two downloads, however many packets are lost
    expect(first.used).toBeLessThan(1.5 * large.length);
    expect(second.used).toBeLessThan(10_000);
    // The gateway lends to several, and a backend that is asked as any server owes nobody.
    expect((await ask(one, { path })).status).toBe(404);
    const { port } = running.backends['backend1']!.address;
    expect((await ask(await connect(port), { path })).status).toBe(404);
    for (const answer of [await get(port, path), await getByHttp2(port, path)]) expect(answer.status).toBe(404);
  });
});

describe('an edge', () => {
  it('asks backends for its browsers', async () => {
    const running = await site({ withEdge: true });
    await serving(running);
    const port = running.edge!.address.port;
    expect((await get(port, '/')).body.toString()).toBe('main');
    await vi.waitFor(
      () =>
        expect(
          running.edge!.status().gateway.connections[0]?.backends.filter(({ state }) => state === 'open'),
        ).toHaveLength(3),
      30_000,
    );
    const before = proxied(running);
    for (const body of [
      (await get(port, '/one/a.bin')).body,
      (await getByHttp2(port, '/any/a.bin')).body,
      (await ask(await connect(port), { path: '/any/a.bin' })).body,
    ]) {
      expect(body.equals(large)).toBe(true);
    }
    expect(proxied(running)).toBe(before);
    expect((await get(port, '/one/a.bin')).headers).not.toHaveProperty('sheaf-load');
    expect((await get(port, '/')).headers).not.toHaveProperty('sheaf-routes');
  });

  it('tells pages of the leases that its backends have', async () => {
    const running = await site({ withEdge: true });
    await serving(running);
    const port = running.edge!.address.port;
    await get(port, '/');
    const reports = async () =>
      parsePathReports(JSON.parse((await get(port, '/.well-known/sheaf/paths')).body.toString()));
    await vi.waitFor(
      async () =>
        expect((await reports()).flatMap(({ backend, lease }) => (lease ? [backend] : [])).sort()).toEqual([0, 1, 2]),
      { timeout: 30_000, interval: 50 },
    );
    expect((await reports()).find(({ backend }) => backend === undefined)).not.toHaveProperty('lease');
    expect((await get(port, '/one/a.bin')).body.equals(large)).toBe(true);
    const lease = async () => (await reports()).find(({ backend }) => backend === 0)?.lease;
    await vi.waitFor(async () => expect((await lease())?.used).toBeGreaterThan(large.length), {
      timeout: 30_000,
      interval: 50,
    });
  });

  it('tells pages which server sent each response', async () => {
    const running = await site({ withEdge: true });
    await serving(running);
    const port = running.edge!.address.port;
    await get(port, '/');
    await vi.waitFor(
      () =>
        expect(
          running.edge!.status().gateway.connections[0]?.backends.filter(({ state }) => state === 'open'),
        ).toHaveLength(3),
      30_000,
    );
    const [page, fromBackend, carried] = [
      await get(port, '/'),
      await get(port, '/one/a.bin'),
      await get(port, '/proxied/a.bin'),
    ];
    const told = () => get(port, '/.well-known/sheaf/responses');
    expect((await told()).headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    });
    const reportOf = async ({ headers }: typeof page) =>
      parseResponseReports(JSON.parse((await told()).body.toString())).find(
        ({ id }) => String(id) === headers['sheaf-response'],
      );
    // The edge learns that a body has ended a moment after it was received.
    for (const response of [page, fromBackend, carried])
      await vi.waitFor(async () => expect((await reportOf(response))?.ended).toBe(true), 30_000);
    expect((await reportOf(page))?.parts).toEqual([{ bytes: 4 }]);
    expect((await reportOf(fromBackend))?.parts).toEqual([{ backend: 0, bytes: large.length }]);
    expect((await reportOf(carried))?.parts).toEqual([{ bytes: large.length }]);
    // Neither the gateway nor an edge that keeps its paths to itself.
    expect((await get(running.gateway.address.port, '/.well-known/sheaf/responses')).status).toBe(404);
    expect((await get(running.gateway.address.port, '/')).headers).not.toHaveProperty('sheaf-response');
  });

  it('finishes downloads although the backend that sends them is closed', async () => {
    const running = await site({ withEdge: true });
    await serving(running);
    const port = running.edge!.address.port;
    await get(port, '/');
    await vi.waitFor(
      () =>
        expect(
          running.edge!.status().gateway.connections[0]?.backends.filter(({ state }) => state === 'open'),
        ).toHaveLength(3),
      30_000,
    );
    const downloads = Array.from({ length: 9 }, () => get(port, '/any/a.bin'));
    await vi.waitFor(() => expect(running.backends['backend2']?.status().requestsActive).toBeGreaterThan(0), {
      timeout: 30_000,
      interval: 1,
    });
    await running.backends['backend2']?.close(0);
    for (const { status, body } of await Promise.all(downloads))
      expect([status, body.equals(large)]).toEqual([200, true]);
  });
});

describe('a backend', () => {
  it('is used no more while it drains, and finishes what is in flight', async () => {
    const running = await site({ gateway: ['admin: 127.0.0.1:0'] });
    await serving(running);
    const backends = await client(running);
    const first = await backends.request({ path: '/one/a.bin' });
    const admin = `http://127.0.0.1:${running.gateway.adminAddress?.port}`;
    await fetch(`${admin}/backends/backend1/drain`, { method: 'POST', headers: { 'sheaf-admin': '1' } });
    await vi.waitFor(() => expect(states(running)[0]).toBe('draining'), 30_000);
    expect((await collect(first)).equals(large)).toBe(true);
    await vi.waitFor(() => expect(running.backends['backend1']?.status().guests).toBe(0), 30_000);
    // It may still be asked by the gateway.
    expect((await collect(await backends.request({ path: '/one/a.bin' }))).equals(large)).toBe(true);
    expect(proxied(running)).toBe(1);
    await fetch(`${admin}/backends/backend1/resume`, { method: 'POST', headers: { 'sheaf-admin': '1' } });
    await vi.waitFor(() => expect(running.backends['backend1']?.status().guests).toBe(1), 30_000);
    await vi.waitFor(async () => {
      expect((await collect(await backends.request({ path: '/one/a.bin' }))).equals(large)).toBe(true);
      expect(running.backends['backend1']?.status().requestsTotal).toBeGreaterThan(2);
    }, 30_000);
  });

  it('shows backends and leases in the status', async () => {
    const running = await site();
    await serving(running);
    const backends = await client(running);
    await collect(await backends.request({ path: '/one/a.bin' }));
    const [connection] = running.gateway.status().connections;
    expect(connection?.backends).toHaveLength(3);
    expect(connection?.backends.find(({ backend }) => backend === 0)?.lease?.granted).toBeGreaterThan(0);
    await vi.waitFor(
      () => expect(running.gateway.status().backends?.[0]?.bytesSent).toBeGreaterThan(large.length),
      30_000,
    );
  });
});
