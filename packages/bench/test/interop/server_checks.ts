import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connectHttp3, type ClientOptions, type Http3Client } from '@sheaf/native';
import { expect, vi } from 'vitest';
import type { serverFeatures } from './matrix.js';
import type { Peer } from './peer.js';
import { json, sheaf } from './programs.js';
import { startRelay, type RelayOptions } from './relay.js';
import { patternBytes, sha256, type Site } from './site.js';

type Check = (peer: Peer, site: Site) => Promise<void>;

const handshakes = Number(process.env['SHEAF_INTEROP_HANDSHAKES'] ?? 50);
const bodyBytes = { small: 1_000, medium: 1_000_000, lossy: 3_000_000, large: 12_000_000 };
/** What servers have to have. */
export const servedSizes = Object.values(bodyBytes);
const bytesOf = (count: number): string => `/bytes/${count}`;

async function serving<Result>(
  peer: Peer,
  site: Site,
  use: (port: number) => Promise<Result>,
  { retry = false, otherGroup = false } = {},
): Promise<Result> {
  if (!peer.serve) throw new Error(`${peer.name} is no server here`);
  const server = await peer.serve({ site, retry, otherGroup });
  try {
    return await use(server.port);
  } finally {
    await server.stop();
  }
}

const fetchJson = (
  peer: Peer,
  site: Site,
  port: number,
  count: number,
  options: readonly string[] = [],
): Promise<Record<string, unknown>> =>
  json(sheaf, [
    'fetch',
    `https://127.0.0.1:${port}${bytesOf(count)}`,
    '--ca',
    site.certificates.authority,
    '--alpn',
    peer.protocol,
    '--json',
    ...options,
  ]);

async function expectFetched(
  peer: Peer,
  site: Site,
  port: number,
  count: number,
  options: readonly string[] = [],
): Promise<void> {
  expect(await fetchJson(peer, site, port, count, options)).toMatchObject({
    sha256: sha256(patternBytes(count)),
    alpn: peer.protocol,
  });
}

const connect = (peer: Peer, port: number, options: Partial<ClientOptions> = {}): Promise<Http3Client> =>
  connectHttp3({ host: '127.0.0.1', port, serverName: 'localhost', insecure: true, alpn: [peer.protocol], ...options });

/** A session of this server, once a download has used the connection that it came with. */
async function firstSession(peer: Peer, port: number): Promise<Buffer> {
  const client = await connect(peer, port);
  const [session] = (await once(client, 'session')) as [Buffer];
  await get(client, bodyBytes.small);
  await client.close();
  return session;
}

/** Downloads with a connection that is there; `during` is called with each part of the body. */
async function get(client: Http3Client, count: number, during = (): void => undefined): Promise<void> {
  const response = await client.request({ method: 'GET', path: bytesOf(count), authority: 'localhost', headers: {} });
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const part of response as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    during();
    hash.update(part);
  }
  expect({ bytes, sha256: hash.digest('hex') }).toEqual({ bytes: count, sha256: sha256(patternBytes(count)) });
}

async function relayed(
  port: number,
  options: RelayOptions,
  use: (relay: Awaited<ReturnType<typeof startRelay>>) => Promise<void>,
): Promise<void> {
  const relay = await startRelay(port, options);
  try {
    await use(relay);
  } finally {
    relay.close();
  }
}

const earlyConnections = 5;

/** What the server took of a client that offers 0-RTT, and sent its first request in it. */
async function resumeEarly(
  peer: Peer,
  port: number,
  session: Buffer,
): Promise<{ resumed: boolean; earlyData: boolean }> {
  let taken = { resumed: false, earlyData: false };
  await relayed(port, {}, async (relay) => {
    const client = await connect(peer, relay.port, { session, earlyRequests: true });
    expect(client.status().state).toBe('handshake');
    await get(client, bodyBytes.medium);
    const { resumed, earlyData } = client.status();
    taken = { resumed, earlyData };
    await client.close();
    expect(relay.counts.early).toBeGreaterThan(0);
  });
  return taken;
}

export const serverChecks: Record<keyof typeof serverFeatures, Check> = {
  servesParallel: (peer, site) =>
    serving(peer, site, async (port) => {
      await expectFetched(peer, site, port, bodyBytes.medium, ['--repeat', '8', '--parallel', '8']);
    }),

  servesRetry: (peer, site) =>
    serving(peer, site, (port) => expectFetched(peer, site, port, bodyBytes.medium), { retry: true }),

  servesLoss: (peer, site) =>
    serving(peer, site, async (port) => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      await relayed(port, { loss: 0.05, seed }, async (relay) => {
        console.log(`${peer.name} as server: seed ${seed}`);
        await expectFetched(peer, site, relay.port, bodyBytes.lossy);
        expect(relay.counts.dropped).toBeGreaterThan(20);
      });
    }),

  servesKeyUpdate: (peer, site) =>
    serving(peer, site, async (port) => {
      const client = await connect(peer, port);
      await vi.waitFor(() => expect(client.updateKeys()).toBe(true), { timeout: 30_000, interval: 20 });
      await get(client, bodyBytes.lossy);
      expect(client.status().keyUpdates).toBeGreaterThan(0);
      await client.close();
    }),

  servesRebinding: (peer, site) =>
    serving(peer, site, async (port) => {
      const rebind = { bytes: bodyBytes.large / 4, call: (): void => rebound() };
      let rebound = (): void => undefined;
      await relayed(port, { after: [rebind] }, async (relay) => {
        rebound = () => relay.rebind();
        const client = await connect(peer, relay.port);
        await get(client, bodyBytes.large);
        expect(relay.counts.afterRebinding).toBeGreaterThan(100);
        await client.close();
      });
    }),

  servesResumption: (peer, site) =>
    serving(peer, site, async (port) => {
      const session = await firstSession(peer, port);
      // With a ticket of this server nothing asks for its certificate, which this client would refuse.
      const second = await connect(peer, port, { session, insecure: false, certificateHashes: ['00'.repeat(32)] });
      await get(second, bodyBytes.small);
      await second.close();
    }),

  servesMigration: (peer, site) =>
    serving(peer, site, async (port) => {
      const client = await connect(peer, port);
      const localPort = (): number | undefined => client.status().paths[0]?.local.port;
      const before = localPort();
      let moved = false;
      // As soon as the handshake is confirmed and an unused connection id of the server is here.
      await get(client, bodyBytes.large, () => void (moved ||= client.migrate({ address: '127.0.0.1', port: 0 })));
      expect(moved).toBe(true);
      expect(localPort()).not.toBe(before);
      await get(client, bodyBytes.medium);
      await client.close();
    }),

  servesEarly: (peer, site) =>
    serving(peer, site, async (port) => {
      for (let index = 0; index < earlyConnections; index += 1)
        expect(await resumeEarly(peer, port, await firstSession(peer, port))).toEqual({
          resumed: true,
          earlyData: true,
        });
    }),

  servesHelloRetry: (peer, site) =>
    serving(
      peer,
      site,
      async (port) => {
        expect(await resumeEarly(peer, port, await firstSession(peer, port))).toEqual({
          resumed: true,
          earlyData: false,
        });
      },
      { otherGroup: true },
    ),

  servesHandshakes: (peer, site) =>
    serving(peer, site, async (port) => {
      for (let index = 0; index < handshakes; index += 1) {
        const client = await connect(peer, port);
        await get(client, bodyBytes.small);
        await client.close();
      }
    }),
};
