// Backends that number the packets of their responses themselves, for clients that permit it.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Http3Server, ServerConnection } from '@sheaf/native';
import { expect, it, vi } from 'vitest';
import { collect } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { loggedByBackends, returningSite, travelled } from '../../support/returning_site.js';
import type { Site } from '../../support/site.js';
import { startUpstream } from '../../support/upstream.js';

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const large = randomBytes(20_000_000);
const files = { 'large.bin': large, 'small.bin': large.subarray(0, 3_000) };
const byItself = { delivery: 'return', recovery: 'backend' };

const quicOf = ({ gateway }: Site): Http3Server => (gateway as unknown as { front: { quic: Http3Server } }).front.quic;

const packetsOf = ({ backends }: Site): { packets: number; runs: number }[] =>
  Object.values(backends).map((backend) => backend.status().return!);

/** Waits until no backend has anything to send. */
const noGrants = (site: Site): Promise<void> =>
  vi.waitFor(() => {
    for (const backend of Object.values(site.backends)) expect(backend.status().return!.grants).toBe(0);
  }, 30_000);

it('three backends send large files, while keys are updated', async () => {
  const site = await returningSite({ backends: 3, files, recovery: 'backend' });
  const accepted = once(quicOf(site), 'connection') as Promise<[ServerConnection]>;
  const client = await connect(site.gateway.address.port, { returnPaths: true });
  const [connection] = await accepted;
  const downloads = Array.from({ length: 6 }, () => ask(client, { path: '/large.bin' }));
  await vi.waitFor(() => expect(connection.updateKeys()).toBe(true), { timeout: 30_000, interval: 5 });
  for (const { headers, body } of await Promise.all(downloads)) {
    expect(hash(body)).toBe(hash(large));
    expect(headers['server-timing']).toMatch(/sheaf-delivery;desc="return backend\d recovery=backend"$/);
  }
  const lines = await travelled(site, '/large.bin', 6);
  for (const line of lines) {
    expect(line).toMatchObject({ ...byItself, bytes: large.length, returned_bytes: large.length });
    expect(line).not.toHaveProperty('fallback');
  }
  expect(new Set(lines.map(({ backend }) => backend)).size).toBe(3);
  for (const { packets, runs } of packetsOf(site)) expect([packets > large.length / 1_500, runs]).toEqual([true, 0]);
  const deliveries = site.gateway.status().backends!.map((backend) => backend.deliveries);
  expect(deliveries.reduce((sum, { ownRecovery }) => sum + ownRecovery, 0)).toBe(6);
  for (const line of await loggedByBackends(site, '/large.bin', 6)) expect(line).toMatchObject(byItself);
  expect(connection.status().keyUpdates).toBeGreaterThan(0);
  expect(quicOf(site).counters().bytesSent).toBeLessThan(large.length / 10);
  await noGrants(site);
});

it('small files come whole, too', async () => {
  const site = await returningSite({ backends: 2, files, recovery: 'backend' });
  const client = await connect(site.gateway.address.port, { returnPaths: true });
  for (let i = 0; i < 4; i += 1) {
    const bodies = await Promise.all(Array.from({ length: 10 }, () => ask(client, { path: '/small.bin' })));
    for (const { body } of bodies) expect(body.equals(files['small.bin'])).toBe(true);
  }
  const lines = await travelled(site, '/small.bin', 40);
  expect(lines.map(({ recovery }) => recovery)).toEqual(lines.map(() => 'backend'));
  await noGrants(site);
});

it('so do bodies of upstreams, as they come', async () => {
  const body = large.subarray(0, 3_000_000);
  const { origin } = await startUpstream((_request, response) => {
    response.writeHead(200, { 'content-length': body.length, etag: '"a-1"' });
    response.write(body.subarray(0, 1_000_000));
    setTimeout(() => response.end(body.subarray(1_000_000)), 50);
  });
  const site = await returningSite({ recovery: 'backend', routes: `[{ path: /, upstream: "${origin}" }]` });
  const client = await connect(site.gateway.address.port, { returnPaths: true });
  const bodies = await Promise.all(Array.from({ length: 5 }, () => ask(client, { path: '/stream' })));
  for (const answer of bodies) expect(hash(answer.body)).toBe(hash(body));
  for (const line of await travelled(site, '/stream', 5)) expect(line).toMatchObject(byItself);
  await noGrants(site);
});

it('others go on where a backend ends in the middle', async () => {
  const site = await returningSite({ backends: 3, files, recovery: 'backend' });
  const client = await connect(site.gateway.address.port, { returnPaths: true });
  const downloads = await Promise.all(Array.from({ length: 3 }, () => client.request({ path: '/large.bin' })));
  await once(downloads[0]!, 'readable');
  const ended = site.backends['backend2']!.close(0);
  for (const download of downloads) expect(hash(await collect(download))).toBe(hash(large));
  await ended;
  const lines = await travelled(site, '/large.bin', 3);
  expect(lines.map(({ bytes }) => bytes)).toEqual([large.length, large.length, large.length]);
  expect(lines.find(({ backend }) => backend === 'backend2')).toMatchObject(byItself);
});

// A window holds back what a client does not read: nothing but what it permitted is on the way.
it('clients that read nothing hold up nobody', async () => {
  const site = await returningSite({ backends: 2, files, recovery: 'backend' });
  const { port } = site.gateway.address;
  const window = 65_536;
  const greedy = await connect(port, { returnPaths: true, initialStreamWindow: window, maxStreamWindow: window });
  const controller = new AbortController();
  for (let i = 0; i < 100; i += 1) {
    // Most of them do not begin: the credit of the connection is used up.
    const asked = greedy.request({ path: '/large.bin', signal: controller.signal });
    asked.then(
      (response) => response.on('error', () => undefined),
      () => undefined,
    );
  }
  const polite = await connect(port, { returnPaths: true });
  expect(hash((await ask(polite, { path: '/large.bin' })).body)).toBe(hash(large));
  const sent = packetsOf(site).reduce((sum, { packets }) => sum + packets, 0);
  expect(sent).toBeLessThan((2 * large.length + 100 * 2 * window) / 1_000);
  // What backends were permitted and never sent is credit of the connection again.
  controller.abort();
  expect((await ask(greedy, { path: '/small.bin' })).body.equals(files['small.bin'])).toBe(true);
  await noGrants(site);
});

it('the gateway numbers the packets for all other clients, and for other backends', async () => {
  const site = await returningSite({ backends: 1, files, recovery: 'backend' });
  const ordinary = await connect(site.gateway.address.port);
  expect(hash((await ask(ordinary, { path: '/large.bin' })).body)).toBe(hash(large));
  const [line] = await travelled(site, '/large.bin');
  expect([line!['delivery'], line!['recovery']]).toEqual(['return', undefined]);
  expect(packetsOf(site)[0]!.runs).toBeGreaterThan(0);
  const other = await returningSite({ backends: 1, files });
  const client = await connect(other.gateway.address.port, { returnPaths: true });
  expect(hash((await ask(client, { path: '/large.bin' })).body)).toBe(hash(large));
  expect((await travelled(other, '/large.bin'))[0]).not.toHaveProperty('recovery');
});

it('a client that also speaks Multi-End asks backends itself, where the route permits it', async () => {
  const site = await returningSite({ backends: 1, files, recovery: 'backend', delivery: 'direct' });
  const client = await connect(site.gateway.address.port, { returnPaths: true, multiEnd: true });
  expect(hash((await ask(client, { path: '/large.bin' })).body)).toBe(hash(large));
  await vi.waitFor(() => expect(client.status().multiEnd).toBe(true), 30_000);
  const [line] = await travelled(site, '/large.bin');
  expect(line).not.toHaveProperty('recovery');
});
