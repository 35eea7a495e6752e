import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as native from '@sheaf/native';
import type { ClientResponse, Executor, Http3Client, Http3Server } from '@sheaf/native';
import { expect, it, vi } from 'vitest';
import { freePort } from '../../../src/values/free_port.js';
import { get, getByHttp2 } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { linesOfGateway, startSite, type Site } from '../../support/site.js';

/** Those of all backends */
const executors: Executor[] = [];
vi.mock('@sheaf/native', async (original) => {
  const actual = await original<typeof native>();
  const openExecutor: typeof native.openExecutor = (...options) => {
    const executor = actual.openExecutor(...options);
    executors.push(executor);
    return executor;
  };
  return { ...actual, openExecutor };
});

const large = randomBytes(3_000_000);
const ready = 'a backend can send responses from the address of this gateway';
const long = Buffer.concat(Array.from({ length: 12 }, () => large));

/** A gateway whose backends may send from its address, by a shared port. */
async function site(
  backends: number,
  {
    delivery = '[return, proxy]',
    returns = true,
    runs = returns,
    gateway = [],
  }: {
    delivery?: string;
    returns?: boolean;
    /** Whether to wait for the connections for runs */
    runs?: boolean;
    /** Further lines of the gateway */
    gateway?: string[];
  } = {},
): Promise<Site> {
  const port = await freePort();
  const names = Array.from({ length: backends }, (_, index) => `backend${index + 1}`);
  const running = await startSite({
    port,
    gateway,
    routes: `[{ path: /, backends: [${names.join(', ')}], delivery: ${delivery} }]`,
    backends: Object.fromEntries(names.map((name) => [name, '[{ path: /, files: one }]'])),
    backend: returns ? [`return: { from: "127.0.0.1:${port}", via: own-address }`] : [],
    files: { 'one/large.bin': large, 'one/long.bin': long },
  });
  // The entity tag of a file that has just changed is weak.
  for (const name of ['large.bin', 'long.bin']) await utimes(join(running.directory, 'one', name), 1e9, 1e9);
  const states = (): (string | undefined)[] => running.gateway.status().backends?.map(({ state }) => state) ?? [];
  await vi.waitFor(() => expect(states()).toEqual(names.map(() => 'serving')), 30_000);
  if (runs) {
    const able = (): unknown[] => running.log.filter(({ msg }) => msg === ready);
    await vi.waitFor(() => expect(able()).toHaveLength(backends), 30_000);
  }
  return running;
}

/** Waits until no backend has a grant. */
function noGrants(): Promise<void> {
  const grants = (): number => executors.reduce((sum, executor) => sum + (executor.stats()?.grants ?? 0), 0);
  return vi.waitFor(() => expect([executors.length > 0, grants()]).toEqual([true, 0]), 30_000);
}

type Line = Record<string, unknown>;

/** Waits until the gateway has logged so many responses of backends, and returns how they travelled. */
function deliveries(running: Site, count: number): Promise<Line[]> {
  return vi.waitFor(() => {
    const lines = linesOfGateway(running).filter(({ delivery }) => delivery !== undefined);
    expect(lines).toHaveLength(count);
    return lines;
  }, 30_000);
}

const proxied = (fallback: string): Line => ({ delivery: 'proxy', backend: 'backend1', fallback });

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

/** Bytes of UDP payload that the gateway sent to clients itself */
function sentByGateway({ gateway }: Site): number {
  const { quic } = (gateway as unknown as { front: { quic: Http3Server } }).front;
  return quic.counters().bytesSent;
}

function standStill(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('backends send files from the address of the gateway, which sends none of them', async () => {
  const running = await site(3);
  const client = await connect(running.gateway.address.port);
  const answers = await Promise.all(Array.from({ length: 9 }, () => ask(client, { path: '/large.bin' })));
  for (const { status, headers, body } of answers) {
    expect([status, headers['content-length'], body.equals(large)]).toEqual([200, String(large.length), true]);
    expect(headers['sheaf-accepted']).toBeUndefined();
  }
  const lines = await deliveries(running, 9);
  for (const line of lines) {
    expect(line).toMatchObject({ delivery: 'return', bytes: large.length, returned_bytes: large.length });
    expect(line).not.toHaveProperty('fallback');
  }
  const backends = running.gateway.status().backends!;
  expect(backends.map(({ returns, runs }) => [returns, runs?.state])).toEqual(Array(3).fill([true, 'open']));
  expect(sum(backends.map(({ deliveries: { responses } }) => responses.return ?? 0))).toBe(9);
  expect(sum(backends.map(({ deliveries: { returnedBytes } }) => returnedBytes))).toBe(9 * large.length);
  const sent = Object.values(running.backends).map((backend) => backend.status().return!);
  expect(sent).toMatchObject(Array(3).fill({ via: 'own-address', sessions: 1 }));
  expect(sum(sent.map(({ bytes }) => bytes))).toBeGreaterThan(9 * large.length);
  expect(new Set(lines.map(({ backend }) => backend))).toEqual(new Set(['backend1', 'backend2', 'backend3']));
  expect(sentByGateway(running)).toBeLessThan(large.length / 10);
});

it('no backend is blamed for time in which the process did not run', async () => {
  const running = await site(1);
  const windows = { maxStreamWindow: 500_000, initialStreamWindow: 500_000 };
  const client = await connect(running.gateway.address.port, windows);
  const response = await client.request({ path: '/large.bin' });
  // Longer than a gateway waits for a backend, and than a backend waits for a gateway
  const pauses = [700, 1_500, 700];
  const chunks: Buffer[] = [];
  let received = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    received += chunk.length;
    if (received > (4 - pauses.length) * 600_000) standStill(pauses.shift() ?? 0);
  }
  expect(Buffer.concat(chunks).equals(large)).toBe(true);
  expect(await deliveries(running, 1)).toMatchObject([{ delivery: 'return', returned_bytes: large.length }]);
});

it('downloads that begin one after the other come from all backends', async () => {
  const running = await site(3);
  const downloads: ClientResponse[] = [];
  for (let index = 0; index < 6; index += 1) {
    const client = await connect(running.gateway.address.port);
    downloads.push(await client.request({ path: '/long.bin' }));
  }
  // A backend's own report may count a request that has just ended.
  for (const { proxied: had } of running.gateway.status().backends!) expect(had).toBeGreaterThan(0);
  for (const download of downloads) download.destroy();
  await noGrants();
});

it('a part of a file is sent like a whole one', async () => {
  const running = await site(1);
  const client = await connect(running.gateway.address.port);
  const part = await ask(client, { path: '/large.bin', headers: { range: 'bytes=1000-1999999' } });
  expect([part.status, part.headers['content-range']]).toEqual([206, 'bytes 1000-1999999/3000000']);
  expect(part.body.equals(large.subarray(1_000, 2_000_000))).toBe(true);
  expect(await deliveries(running, 1)).toMatchObject([
    { delivery: 'return', backend: 'backend1', status: 206, bytes: 1_999_000 },
  ]);
});

it('what cannot be returned is proxied', async () => {
  const running = await site(1);
  const { port } = running.gateway.address;
  const client = await connect(port);
  for (const { status, body } of [await get(port, '/large.bin'), await getByHttp2(port, '/large.bin')])
    expect([status, body.equals(large)]).toEqual([200, true]);
  const { status, headers } = await ask(client, { path: '/none.txt' });
  expect(status).toBe(404);
  expect(headers['server-timing']).toMatch(/sheaf-delivery;desc="proxy backend1: response"$/);
  const head = await ask(client, { method: 'HEAD', path: '/large.bin' });
  expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, String(large.length), 0]);
  const etag = String(head.headers['etag']);
  expect((await ask(client, { path: '/large.bin', headers: { 'if-none-match': etag } })).status).toBe(304);
  expect(await deliveries(running, 5)).toMatchObject([
    proxied('http-version'),
    proxied('http-version'),
    proxied('response'),
    proxied('method'),
    proxied('response'),
  ]);
});

it('what nobody could continue is proxied', async () => {
  const running = await site(1);
  const client = await connect(running.gateway.address.port);
  // The entity tag of a file that has just changed is weak.
  await writeFile(join(running.directory, 'one', 'large.bin'), large);
  const { headers, body } = await ask(client, { path: '/large.bin' });
  expect([headers['sheaf-declined'], body.equals(large)]).toEqual([undefined, true]);
  expect(headers['etag']).toMatch(/^W/);
  expect(await deliveries(running, 1)).toMatchObject([proxied('unknown')]);
});

it('what one client makes of a request stops no returns for others', async () => {
  const running = await site(1);
  const client = await connect(running.gateway.address.port);
  const asks: [number, Record<string, string>][] = [
    [304, { 'if-none-match': '*' }],
    [412, { 'if-match': '"another"' }],
    [416, { range: 'bytes=3000000-' }],
  ];
  for (const [status, headers] of asks)
    expect((await ask(client, { path: '/large.bin', headers })).status).toBe(status);
  expect((await ask(client, { path: '/late.bin' })).status).toBe(404);
  const late = join(running.directory, 'one', 'late.bin');
  await writeFile(late, large);
  await utimes(late, 1e9, 1e9);
  for (const path of ['/large.bin', '/late.bin']) expect((await ask(client, { path })).body.equals(large)).toBe(true);
  const lines = await deliveries(running, 6);
  expect(lines.map(({ delivery }) => delivery)).toEqual(['proxy', 'proxy', 'proxy', 'proxy', 'return', 'return']);
});

it('the log has no byte that a client cannot have', async () => {
  const running = await site(1);
  const window = 65_536;
  const client = await connect(running.gateway.address.port, { initialStreamWindow: window, maxStreamWindow: window });
  const controller = new AbortController();
  const response = await client.request({ path: '/large.bin', signal: controller.signal });
  response.on('error', () => undefined);
  controller.abort();
  const [line] = await deliveries(running, 1);
  expect(line).toMatchObject({ delivery: 'return', aborted: true });
  expect(line!['returned_bytes']).toBeLessThan(window);
});

it.each(['cancels the request', 'closes the connection'])(
  'the log has every byte that a client acknowledged before it %s',
  async (leaves) => {
    const running = await site(1);
    const window = 65_536;
    const client = await connect(running.gateway.address.port, {
      initialStreamWindow: window,
      maxStreamWindow: window,
    });
    const controller = new AbortController();
    const response = await client.request({ path: '/large.bin', signal: controller.signal });
    response.on('error', () => undefined);
    // It has all that it permits, and has said so.
    const sent = (): { bytesInFlight: number }[] => running.gateway.status().connections.flatMap(({ paths }) => paths);
    await vi.waitFor(() => {
      expect(client.status().paths[0]?.bytesReceived).toBeGreaterThan(window);
      expect(sent().map(({ bytesInFlight }) => bytesInFlight)).toEqual([0]);
    }, 30_000);
    const { id } = client.status();
    if (leaves === 'closes the connection') await client.close();
    else controller.abort();
    const line = await vi.waitFor(() => {
      const found = running.log.find(({ connection }) => connection === id);
      expect(found).toBeDefined();
      return found!;
    }, 30_000);
    expect(line).toMatchObject({ delivery: 'return', aborted: true });
    // The window holds the head, too.
    expect(line['returned_bytes']).toBeGreaterThan(window - 1_000);
    expect(line['bytes']).toBe(line['returned_bytes']);
  },
);

it('a client that takes nothing of a response loses it, and the backend its grant', async () => {
  const running = await site(1, { gateway: ['limits: { unread_timeout: 3s }'] });
  const client = await connect(running.gateway.address.port);
  const response = await client.request({ path: '/long.bin' });
  const lost = once(response, 'error') as Promise<[Error & { code: string }]>;
  const [line] = await deliveries(running, 1);
  expect(line).toMatchObject({ delivery: 'return', path: '/long.bin', aborted: true });
  expect([Number(line!['bytes']) > 0, Number(line!['bytes']) < long.length]).toEqual([true, true]);
  await noGrants();
  response.resume();
  expect((await lost)[0].code).toBe('STREAM_RESET');
});

it('nothing is left of 5,000 requests that clients give up', async () => {
  const running = await site(1);
  // From before the request leaves to after the response has come
  const abandon = async (client: Http3Client, wait: number): Promise<void> => {
    const controller = new AbortController();
    const asked = client.request({ path: '/large.bin', signal: controller.signal }).then(
      (response) => void response.on('error', () => undefined).resume(),
      () => undefined,
    );
    setTimeout(() => controller.abort(), wait);
    await asked;
  };
  for (let round = 0; round < 10; round += 1) {
    // A connection may cancel 1,000 requests at once.
    const client = await connect(running.gateway.address.port);
    for (let group = 0; group < 25; group += 1)
      await Promise.all(Array.from({ length: 20 }, (_, index) => abandon(client, (group + index) % 20)));
    await client.close();
  }
  await noGrants();
  // The connection between the nodes outlasts all this, and no backend is asked once more or blamed for clients that have left.
  expect(running.log.filter(({ msg }) => msg === 'request failed on its way to a backend')).toEqual([]);
  expect(linesOfGateway(running).filter(({ fallback }) => fallback === 'failed')).toEqual([]);
  const client = await connect(running.gateway.address.port);
  const { status, body } = await ask(client, { path: '/large.bin' });
  expect([status, body.length, body.equals(large)]).toEqual([200, large.length, true]);
});

it('backends that may not send from there proxy', async () => {
  const running = await site(1, { delivery: 'direct', returns: false });
  const client = await connect(running.gateway.address.port);
  expect((await ask(client, { path: '/large.bin' })).body.equals(large)).toBe(true);
  expect(await deliveries(running, 1)).toMatchObject([proxied('no-return')]);
});

it('a route may leave it out', async () => {
  const running = await site(1, { delivery: 'proxy', runs: false });
  const client = await connect(running.gateway.address.port);
  expect((await ask(client, { path: '/large.bin' })).body.equals(large)).toBe(true);
  const [line] = await deliveries(running, 1);
  expect([line?.['delivery'], line?.['fallback']]).toEqual(['proxy', undefined]);
});

it('a client with Multi-End hears of the route map', async () => {
  const running = await site(1);
  const { port } = running.gateway.address;
  const ordinary = await ask(await connect(port), { path: '/large.bin', headers: { 'sheaf-routes': '"forged"' } });
  expect(ordinary.headers['sheaf-routes']).toBeUndefined();
  const client = await connect(port, { multiEnd: true });
  let asked = 1;
  // The gateway hears after the handshake that the client speaks Multi-End.
  await vi.waitFor(async () => {
    asked += 1;
    const { headers, body } = await ask(client, { path: '/large.bin' });
    expect(body.equals(large)).toBe(true);
    expect(headers['sheaf-routes']).toMatch(/^"[^"]+"$/);
  }, 30_000);
  const lines = await deliveries(running, asked);
  expect(lines.map(({ delivery }) => delivery)).toEqual(lines.map(() => 'return'));
});

it('a client cannot grant', async () => {
  const running = await site(1);
  const { port } = running.gateway.address;
  const client = await connect(port);
  const forged = randomBytes(230).toString('base64url');
  const headers = {
    'sheaf-grant': forged,
    sheaf_grant: forged,
    'sheaf-accepted': 'status=200; length=5; first=0; tag="a"',
    'sheaf-declined': 'small',
  };
  const answer = await ask(client, { method: 'HEAD', path: '/large.bin', headers });
  expect([answer.status, answer.headers['sheaf-accepted']]).toEqual([200, undefined]);
  const capitals = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  const twice = { ...headers, 'sheaf-grant': [forged, forged] };
  for (const { status, body } of [
    await get(port, '/large.bin', { headers: capitals }),
    await getByHttp2(port, '/large.bin', { headers }),
    await ask(client, { path: '/large.bin', headers: twice }),
    // The gateway's own grant takes the place of the client's.
    await ask(client, { path: '/large.bin', headers }),
  ])
    expect([status, body.equals(large)]).toEqual([200, true]);
  const lines = await deliveries(running, 5);
  expect(lines.map(({ delivery }) => delivery)).toEqual(['proxy', 'proxy', 'proxy', 'return', 'return']);
  expect(running.log.filter(({ msg }) => msg === 'a grant is refused')).toEqual([]);
});

it('a backend that can send nothing more proxies the rest, where it is the only one', async () => {
  const running = await site(1);
  const client = await connect(running.gateway.address.port);
  const response = await client.request({ path: '/long.bin' });
  const chunks: Buffer[] = [];
  let received = 0;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    received += chunk.length;
    // Its session ends, and the connection for requests stays.
    if (received > 1_000_000) executors.at(-1)!.close();
  });
  await once(response, 'end');
  expect(Buffer.concat(chunks).equals(long)).toBe(true);
  const [line] = await deliveries(running, 1);
  expect(line).toMatchObject({ delivery: 'return', backend: 'backend1', bytes: long.length });
  expect(['silent', 'gone']).toContain(line!['fallback']);
  expect(line!['returned_bytes']).toBeLessThan(long.length);
});

it('a backend that stops proxies what it can send no more itself, and stops then', async () => {
  const running = await site(1);
  const { backend1 } = running.backends;
  const client = await connect(running.gateway.address.port);
  const response = await client.request({ path: '/long.bin' });
  const chunks: Buffer[] = [];
  let received = 0;
  let closing: Promise<void> | undefined;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    received += chunk.length;
    if (received <= 1_000_000 || closing) return;
    closing = backend1!.close(60_000);
    executors.at(-1)!.close();
  });
  await once(response, 'end');
  expect(Buffer.concat(chunks).equals(long)).toBe(true);
  await closing;
  expect(await deliveries(running, 1)).toMatchObject([{ delivery: 'return', bytes: long.length }]);
});

it.each([
  ['a whole file', {}, long],
  ['a part of it', { range: 'bytes=1000-35999000' }, long.subarray(1_000, 35_999_001)],
])('another backend continues %s that one has left undone', async (_name, headers, expected) => {
  const running = await site(2);
  const client = await connect(running.gateway.address.port);
  const sender = (): string => running.gateway.status().backends!.find(({ proxied }) => proxied > 0)!.name;
  const response = await client.request({ path: '/long.bin', headers });
  const chunks: Buffer[] = [];
  let received = 0;
  let closing: Promise<void> | undefined;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    received += chunk.length;
    if (received > 1_000_000) closing ??= running.backends[sender()]!.close(0);
  });
  await once(response, 'end');
  await closing;
  expect(Buffer.concat(chunks).equals(expected)).toBe(true);
  const told = running.log.filter(({ msg }) => msg === 'a backend sends no more of a response');
  expect(told).toMatchObject([{ path: '/long.bin', reason: 'gone' }]);
  const [line] = await deliveries(running, 1);
  expect(line).toMatchObject({
    delivery: 'return',
    backend: told[0]?.['backend'],
    fallback: 'gone',
    bytes: expected.length,
  });
  expect(line?.['returned_bytes']).toBeLessThan(expected.length);
});
