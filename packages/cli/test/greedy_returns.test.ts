// What clients that ask for much and take nothing cost a gateway and a backend that sends from its address, as the growth of their
// processes.
import { setTimeout as sleep } from 'node:timers/promises';
import { connectHttp3, type ClientOptions, type ClientResponse, type Http3Client } from '@sheaf/native';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { MultiEndSite } from './support/multi_end_site.js';

const MB = 1e6;
const path = '/alone/large.bin';
/** A client that reads nothing: what it allows on each stream is used up at once. */
const greedy = { initialStreamWindow: 1_024, maxStreamWindow: 1_024, idleTimeoutMs: 60_000 };

let site: MultiEndSite;
beforeAll(async () => {
  site = await MultiEndSite.start(['site', 'backend1'], 'return');
  await site.returning(1);
  const polite = await connect();
  // Code is loaded and compiled, and the heap has the size that it has under load.
  for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 10 }, () => download(polite)));
  await polite.close();
});
afterAll(() => site.stop());

async function connect(options: Partial<ClientOptions> = {}): Promise<Http3Client> {
  const { listen: port } = site.ports.site;
  return connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true, connectTimeoutMs: 60_000, ...options });
}

async function download(client: Http3Client): Promise<void> {
  let bytes = 0;
  for await (const chunk of await client.request({ path })) bytes += (chunk as Buffer).length;
  expect(bytes).toBe(site.large.length);
}

const ignore = (response: ClientResponse): unknown => response.on('error', () => undefined);

/** Returns by how many bytes the gateway and the backend have grown at most, once they have not grown for a while. */
async function growth(during: () => Promise<void>): Promise<{ gateway: number; backend: number }> {
  const memory = (): number[] => [site.memory('site'), site.memory('backend1')];
  const before = memory();
  const most = [0, 0];
  await during();
  for (let calm = 0; calm < 20; calm++) {
    memory().forEach((bytes, node) => {
      const grown = bytes - before[node]!;
      if (grown > most[node]! + MB / 4) calm = 0;
      most[node] = Math.max(most[node]!, grown);
    });
    await sleep(100);
  }
  return { gateway: most[0]!, backend: most[1]! };
}

/**
 * Others are served, and nothing is left of what was asked for. Until the gateway has ended the connections of those
 * who left, their requests have its places, and others get 503 with `Retry-After: 1`.
 */
async function isOver(): Promise<void> {
  const polite = await connect();
  await vi.waitFor(() => download(polite), { timeout: 30_000, interval: 1_000 });
  await polite.close();
  await vi.waitFor(async () => expect(await site.grants('backend1')).toBe(0), 30_000);
}

it('20 clients with 1,000 requests each that read nothing', async () => {
  const clients: Http3Client[] = [];
  const { gateway, backend } = await growth(async () => {
    for (let i = 0; i < 20; i++) {
      const client = await connect(greedy);
      clients.push(client);
      onTestFinished(() => client.close().catch(() => undefined));
      for (let request = 0; request < 1_000; request++) void client.request({ path }).then(ignore, () => undefined);
    }
    await vi.waitFor(async () => expect(await site.grants('backend1')).toBeGreaterThan(100), 60_000);
  });
  console.log(`20 clients: gateway ${(gateway / MB).toFixed(1)} MB, backend ${(backend / MB).toFixed(1)} MB`);
  expect(gateway).toBeLessThan(256 * MB);
  expect(backend).toBeLessThan(256 * MB);
  for (const client of clients) await client.close().catch(() => undefined);
  await isOver();
});

it('a client that asks and cancels at once loses its connection', async () => {
  const { gateway, backend } = await growth(async () => {
    const client = await connect(greedy);
    let reason: Error | undefined;
    client.once('close', (error) => (reason = error));
    // 100 cancellations a second are permitted beyond the first 1,000, and a machine may be slow.
    while (!reason) {
      const asked = Array.from({ length: 200 }, async () => {
        const controller = new AbortController();
        const response = client.request({ path, signal: controller.signal }).then(ignore);
        await Promise.resolve();
        controller.abort();
        await response;
      });
      await Promise.allSettled(asked);
    }
    expect(reason.message).toContain('EXCESSIVE');
  });
  console.log(`cancelled requests: gateway ${(gateway / MB).toFixed(1)} MB, backend ${(backend / MB).toFixed(1)} MB`);
  expect(gateway).toBeLessThan(64 * MB);
  expect(backend).toBeLessThan(64 * MB);
  await isOver();
});
