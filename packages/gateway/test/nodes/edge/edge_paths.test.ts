import { createHash, randomBytes } from 'node:crypto';
import { parsePathReports } from '@sheaf/web-client/protocol';
import type { PathStatus } from '@sheaf/native';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LoadedGateway } from '../../../src/schema/loaded.js';
import { Gateway } from '../../../src/nodes/gateway.js';
import { get } from '../../support/client.js';
import { connect } from '../../support/http3_client.js';
import { startPair, type Pair } from '../../support/nodes.js';
import { relayTo } from '../../support/relay.js';
import { freePort } from '../../../src/values/free_port.js';
import { startUpstream } from '../../support/upstream.js';

const large = randomBytes(8_000_000);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const site = {
  gateway: ['routes: [{ files: site }]', 'path_scheduler: round-robin'],
  files: { 'large.bin': large, 'index.html': 'the page' },
};

/** While the process does not run, a path may look broken, and the other carries its part: what is seen is tried again. */
const patience = { timeout: 120_000, interval: 20 };

function pathsOf({ edge }: Pair): PathStatus[] {
  return edge.status().gateway.connections[0]?.paths ?? [];
}

/** Reads the response; `onProgress` hears of the bytes so far. */
async function download(port: number, onProgress: (bytes: number) => void = () => undefined): Promise<string> {
  const client = await connect(port);
  const response = await client.request({ path: '/large.bin' });
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    hash.update(chunk);
    onProgress((bytes += chunk.length));
  }
  return hash.digest('hex');
}

/** Waits until the edge has two paths that carry data. */
async function bothActive(pair: Pair): Promise<void> {
  await vi.waitFor(() => expect(pathsOf(pair).filter(({ state }) => state === 'active')).toHaveLength(2), 30_000);
}

describe('an edge tells pages of its paths', () => {
  const ask = (port: number) => get(port, '/.well-known/sheaf/paths');

  it('only when its configuration says so', async () => {
    const pair = await startPair({ ...site });
    expect((await get(pair.port, '/')).status).toBe(200);
    expect((await ask(pair.port)).status).toBe(404);
    expect((await get(pair.port, '/.well-known/sheaf/responses')).status).toBe(404);
    expect((await get(pair.port, '/')).headers).not.toHaveProperty('sheaf-response');
    expect((await get(pair.gateway.address.port, '/.well-known/sheaf/paths')).status).toBe(404);
  });

  it('with their addresses and counters, for its own origin', async () => {
    const pair = await startPair({
      ...site,
      edge: ['show_paths: true', 'paths: [{ local: 127.0.0.1 }, { local: 127.0.0.2, backup: true }]'],
    });
    const before = await ask(pair.port);
    expect(JSON.parse(before.body.toString())).toEqual({ paths: [] });
    expect(before.headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(before.headers).not.toHaveProperty('access-control-allow-origin');
    expect((await get(pair.port, '/')).status).toBe(200);
    await bothActive(pair);
    const remote = `127.0.0.1:${pair.gateway.address.port}`;
    await vi.waitFor(async () => {
      const { paths } = JSON.parse((await ask(pair.port)).body.toString()) as { paths: unknown };
      expect(parsePathReports({ paths })).toMatchObject([
        { id: 0, local: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string, remote, state: 'active', backup: false },
        { id: 1, local: expect.stringMatching(/^127\.0\.0\.2:\d+$/) as string, remote, state: 'active', backup: true },
      ]);
    }, patience);
  });
});

describe('an edge with two paths', () => {
  it('carries a download over both', async () => {
    const pair = await startPair({
      ...site,
      gateway: [...site.gateway],
      edge: ['paths: [{ local: 127.0.0.1 }, { local: 127.0.0.2 }]'],
    });
    expect(await download(pair.port)).toBe(sha256(large));
    await bothActive(pair);
    await vi.waitFor(async () => {
      const before = pathsOf(pair).map(({ bytesReceived }) => bytesReceived);
      expect(await download(pair.port)).toBe(sha256(large));
      const [first = 0, second = 0] = pathsOf(pair).map(
        ({ bytesReceived }, index) => bytesReceived - (before[index] ?? 0),
      );
      expect(Math.min(first, second)).toBeGreaterThan(large.length / 10);
    }, patience);
    expect(pathsOf(pair).map(({ local }) => local.address)).toEqual(['127.0.0.1', '127.0.0.2']);
  });

  it('finishes a download when one of its links is cut in the middle, and uses it again afterwards', async () => {
    const gatewayPort = await freePort();
    const [one, two] = [relayTo(gatewayPort), relayTo(gatewayPort)];
    const pair = await startPair({
      ...site,
      gatewayPort,
      edge: [`paths: [{ local: 127.0.0.1, remote: "${one.remote}" }, { local: 127.0.0.1, remote: "${two.remote}" }]`],
    });
    expect(await download(pair.port)).toBe(sha256(large));
    await bothActive(pair);
    let cut = false;
    const hash = await download(pair.port, (bytes) => {
      if (!cut && bytes > 2_000_000) one.relay.setDown((cut = true));
    });
    expect(cut).toBe(true);
    expect(hash).toBe(sha256(large));
    expect(pair.edge.status().gateway.opened).toBe(1);
    one.relay.setDown(false);
    const delivered = one.relay.stats().back.bytesDelivered;
    await vi.waitFor(async () => {
      expect(await download(pair.port)).toBe(sha256(large));
      expect(one.relay.stats().back.bytesDelivered - delivered).toBeGreaterThan(1_000_000);
    }, patience);
  });

  it('keeps one as a backup', async () => {
    const pair = await startPair({
      ...site,
      edge: ['paths: [{ local: 127.0.0.1 }, { local: 127.0.0.2, backup: true }]'],
    });
    await download(pair.port);
    await bothActive(pair);
    await vi.waitFor(() => expect(pathsOf(pair).map(({ status }) => status)).toEqual(['available', 'backup']), 30_000);
    await vi.waitFor(async () => {
      const before = pathsOf(pair)[1]!.bytesReceived;
      expect(await download(pair.port)).toBe(sha256(large));
      expect(pathsOf(pair)[1]!.bytesReceived - before).toBeLessThan(large.length / 100);
    }, patience);
  });

  it('begins on the second path when the first one is dead', async () => {
    const gatewayPort = await freePort();
    const dead = relayTo(gatewayPort);
    dead.relay.setDown(true);
    const pair = await startPair({
      ...site,
      gatewayPort,
      edge: [`paths: [{ local: 127.0.0.1, remote: "${dead.remote}" }, { local: 127.0.0.2 }]`],
    });
    expect(await download(pair.port)).toBe(sha256(large));
    expect(pathsOf(pair)[0]?.local.address).toBe('127.0.0.2');
    expect(pair.edge.status().gateway.opened).toBe(1);
  });

  it('begins on the second path when the address of the first one is not on this machine', async () => {
    const pair = await startPair({
      ...site,
      edge: ['paths: [{ local: 192.0.2.1 }, { local: "2001:db8::1" }, { local: 127.0.0.1 }]'],
    });
    expect((await get(pair.port, '/')).status).toBe(200);
    expect(pathsOf(pair).map(({ local }) => local.address)).toEqual(['127.0.0.1']);
    expect(pair.log.some((line) => line['msg'] === 'the gateway cannot be reached')).toBe(false);
  });

  it('connects again on the path that worked last', async () => {
    const gatewayPort = await freePort();
    const dead = relayTo(gatewayPort);
    dead.relay.setDown(true);
    const pair = await startPair({
      ...site,
      gatewayPort,
      edge: [`paths: [{ local: 127.0.0.1, remote: "${dead.remote}" }, { local: 127.0.0.2 }]`],
    });
    expect((await get(pair.port, '/')).status).toBe(200);
    // Connections that end within a second make the edge suspect their path.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await pair.gateway.close(0);
    await vi.waitFor(() => expect(pair.edge.status().gateway.state).not.toBe('open'), 30_000);
    const successor = await Gateway.start(
      pair.loaded.nodes.find((node): node is LoadedGateway => node.role === 'gateway')!,
      { logStream: { write: () => true } },
    );
    onTestFinished(() => successor.close(0));
    // The first path of the list would do as well now.
    dead.relay.setDown(false);
    await vi.waitFor(async () => expect((await get(pair.port, '/')).status).toBe(200), 30_000);
    expect(pathsOf(pair)[0]?.local.address).toBe('127.0.0.2');
  });

  it('sends over them by their weights', async () => {
    const upstream = await startUpstream(
      (request, response) => void request.resume().once('end', () => response.end('taken')),
    );
    const pair = await startPair({
      gateway: [`routes: [{ upstream: "${upstream.origin}" }]`],
      edge: ['path_scheduler: weighted', 'paths: [{ local: 127.0.0.1 }, { local: 127.0.0.2, weight: 8 }]'],
    });
    const upload = async () => expect((await get(pair.port, '/', { method: 'POST', body: large })).status).toBe(200);
    await upload();
    await bothActive(pair);
    await vi.waitFor(async () => {
      const before = pathsOf(pair).map(({ bytesSent }) => bytesSent);
      await upload();
      const [light = 0, heavy = 0] = pathsOf(pair).map(({ bytesSent }, index) => bytesSent - (before[index] ?? 0));
      expect(heavy).toBeGreaterThan(light);
      expect(light).toBeGreaterThan(large.length / 100);
    }, patience);
  });

  it('is content with one when the gateway does not speak multipath', async () => {
    const pair = await startPair({
      ...site,
      gateway: [...site.gateway, 'multipath: false'],
      edge: ['paths: [{ local: 127.0.0.1 }, { local: 127.0.0.2 }]'],
    });
    expect(await download(pair.port)).toBe(sha256(large));
    await vi.waitFor(() => expect(pair.log.some((line) => line['msg'] === 'path failed')).toBe(true), 30_000);
    expect(pair.edge.status().gateway.connections[0]).toMatchObject({ multipath: false, paths: [{ id: 0 }] });
  });
});
