import { expect } from 'vitest';
import type { clientFeatures } from './matrix.js';
import type { ConnectionReport, DownloadOptions, Peer, SessionReport } from './peer.js';
import { startRelay, type RelayOptions } from './relay.js';
import type { Body, Site } from './site.js';

type Check = (peer: Peer, site: Site) => Promise<void>;

/** More than fits into the time of the test run can be asked for. */
const handshakes = Number(process.env['SHEAF_INTEROP_HANDSHAKES'] ?? 50);

/** Expects every byte of all bodies, on each connection. */
export function expectWhole(reports: readonly ConnectionReport[], bodies: readonly Body[]): void {
  const sorted = (downloads: readonly Body[]): Body[] =>
    [...downloads].sort((one, other) => (one.path < other.path ? -1 : 1));
  for (const { downloads } of reports) {
    expect(sorted(downloads.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 })))).toEqual(sorted(bodies));
  }
}

const pathsOf = (bodies: readonly Body[]): string[] => bodies.map(({ path }) => path);

/** Downloads, and expects every byte. */
async function download(
  peer: Peer,
  site: Site,
  bodies: readonly Body[],
  options: Partial<DownloadOptions> = {},
): Promise<ConnectionReport[]> {
  const reports = await peer.download({ site, port: site.port, paths: pathsOf(bodies), ...options });
  expect(reports).toHaveLength(options.connections ?? 1);
  expectWhole(reports, bodies);
  return reports;
}

async function throughRelay<Result>(
  site: Site,
  options: RelayOptions,
  use: (relay: Awaited<ReturnType<typeof startRelay>>) => Promise<Result>,
): Promise<Result> {
  const relay = await startRelay(site.port, options);
  try {
    return await use(relay);
  } finally {
    relay.close();
  }
}

/** One run serves three checks. */
const exercised = new WeakMap<Peer, Promise<SessionReport>>();

function exerciseSessions(peer: Peer, site: Site): Promise<SessionReport> {
  const known = exercised.get(peer);
  if (known) return known;
  if (!peer.exerciseSessions) throw new Error(`${peer.name} exercises no sessions`);
  const running = peer.exerciseSessions(site);
  exercised.set(peer, running);
  return running;
}

/** In the middle of the large download. */
const midway = 2_000_000;

export const clientChecks: Record<keyof typeof clientFeatures, Check> = {
  async parallel(peer, site) {
    await download(peer, site, site.medium);
  },

  async hello(peer, site) {
    await throughRelay(site, {}, async (relay) => {
      await download(peer, site, [site.small], { port: relay.port, largeHello: true });
      expect(relay.counts.hello).toBeGreaterThan(1);
    });
  },

  async retry(peer, site) {
    const before = await site.retries();
    await download(peer, site, site.medium, { port: site.retryPort });
    expect(await site.retries()).toBeGreaterThan(before);
  },

  async loss(peer, site) {
    const seed = Math.floor(Math.random() * 2 ** 31);
    await throughRelay(site, { loss: 0.05, seed }, async (relay) => {
      console.log(`${peer.name}: seed ${seed}`);
      await download(peer, site, site.medium, { port: relay.port });
      expect(relay.counts.dropped).toBeGreaterThan(20);
    });
  },

  async keyUpdate(peer, site) {
    const [report] = await download(peer, site, [site.large], { keyUpdate: true });
    expect(report?.keyUpdates).toBeGreaterThan(0);
  },

  async rebinding(peer, site) {
    const rebind = { bytes: midway, call: () => relay.rebind() };
    const relay = await startRelay(site.port, { after: [rebind] });
    try {
      await download(peer, site, [site.large], { port: relay.port });
      expect(relay.counts.afterRebinding).toBeGreaterThan(100);
    } finally {
      relay.close();
    }
  },

  async migration(peer, site) {
    const [report] = await download(peer, site, [site.large], { migrate: true });
    expect(report?.migrated).toBe(true);
  },

  async resumption(peer, site) {
    const [first, second] = await download(peer, site, [site.small], { connections: 2, resume: site });
    expect([first?.resumed, second?.resumed]).toEqual([false, true]);
  },

  async early(peer, site) {
    // Several: whether a ticket counts as fresh must not depend on when in a second it was issued.
    const [first, ...others] = await download(peer, site, [site.small], { connections: 6, resume: site, early: true });
    expect(first?.early).toBe(false);
    expect(others.map(({ early }) => early)).toEqual(others.map(() => true));
  },

  async handshakes(peer, site) {
    await download(peer, site, [site.small], { connections: handshakes });
  },

  async streams(peer, site) {
    expect(await exerciseSessions(peer, site)).toMatchObject({
      bidirectional: true,
      unidirectional: true,
      opened: ['a stream of the gateway', 'came back'],
    });
  },

  async datagrams(peer, site) {
    expect(await exerciseSessions(peer, site)).toMatchObject({ datagram: true });
  },

  async closes(peer, site) {
    expect(await exerciseSessions(peer, site)).toMatchObject({
      closed: { code: 4711, reason: 'closed by the gateway' },
    });
    expect(await site.closedSession()).toEqual({ closeCode: 4242, reason: 'closed by the client' });
  },
};
