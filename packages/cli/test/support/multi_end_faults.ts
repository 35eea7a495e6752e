import { errorMessage } from '@sheaf/gateway';
import type { BackendKeyMode } from '@sheaf/native';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { Downloads } from './downloads.js';
import { MultiEndSite } from './multi_end_site.js';

interface Fault {
  name: string;
  /** The longest stall that this fault may cause; printed beside what was seen. */
  statedMs: number;
  /** Backends that are there before. */
  backends: number;
  happen(site: MultiEndSite, downloads: Downloads): Promise<void> | void;
  /** What has to be seen before the downloads may end. */
  seen?(site: MultiEndSite, downloads: Downloads): Promise<void> | void;
  undo?(site: MultiEndSite): Promise<void> | void;
}

const isLost = async (site: MultiEndSite, backend: number): Promise<void> =>
  expect((await site.backends())[backend]?.state).toBe('lost');

/** RFC 9000 §9.3: gateway and backends see the client elsewhere, which does not know of it. */
function behindAnotherPort(): Fault {
  let before: (string | undefined)[] = [];
  return {
    name: 'client behind another port',
    statedMs: 500,
    backends: 3,
    happen: async (site) => {
      before = await site.clientAddresses();
      expect(before).not.toContain(undefined);
      await site.rebindLinks();
    },
    seen: async (site) =>
      (await site.clientAddresses()).forEach((address, node) =>
        expect([undefined, before[node]]).not.toContain(address),
      ),
  };
}

const faults: readonly Fault[] = [
  {
    name: 'backend joins',
    statedMs: 1_000,
    backends: 2,
    happen: (site) => site.run('backend3'),
    seen: (_site, downloads) => expect(downloads.receivedFrom(2)).toBeGreaterThan(100_000),
  },
  {
    name: 'backend drains',
    statedMs: 1_000,
    backends: 3,
    happen: (site) => site.drain('backend1', 'drain'),
    undo: (site) => site.drain('backend1', 'resume'),
  },
  {
    name: 'backend killed',
    statedMs: 4_000,
    backends: 3,
    happen: (site) => site.kill('backend2'),
    seen: (site) => isLost(site, 1),
    undo: (site) => site.run('backend2'),
  },
  {
    name: 'path to a backend cut',
    statedMs: 4_000,
    backends: 3,
    happen: (site) => site.cutPath(0, true),
    undo: (site) => site.cutPath(0, false),
  },
  {
    name: 'backbone cut',
    statedMs: 8_000,
    backends: 3,
    happen: (site) => site.cutBackbone(1, true),
    seen: (site) => isLost(site, 1),
    undo: (site) => site.cutBackbone(1, false),
  },
  behindAnotherPort(),
  {
    name: 'client at another address',
    statedMs: 1_000,
    backends: 3,
    happen: (_site, downloads) => downloads.moveTo('127.0.0.2'),
  },
  {
    name: 'primary killed',
    statedMs: 18_000,
    backends: 3,
    happen: async (site) => {
      await site.kill('site');
      await site.run('site');
    },
  },
];

interface Row {
  fault: string;
  keys: BackendKeyMode;
  requests: number;
  /** Why requests failed */
  failures: string[];
  bytesLost: number;
  longestStallMs: number;
  statedMs: number;
  keyUpdates: number;
  /** Why downloads did not go on after it; undefined when they did. */
  interrupted: string | undefined;
}

/** Asserts nothing about the row, so that it is printed whatever it says. */
async function suffer(site: MultiEndSite, fault: Fault, keyMode: BackendKeyMode): Promise<Row> {
  const downloads = new Downloads({ port: site.linkToGateway(), path: '/any/file.bin', content: site.file, keyMode });
  const interrupted = await breakDuring(downloads, site, fault).then(
    () => undefined,
    async (error: unknown) => {
      const stuck = await downloads.abandon().catch((reason: unknown) => `; ${errorMessage(reason)}`);
      return `${errorMessage(error)}${stuck ?? ''}`;
    },
  );
  const { requests, failures, bytesLost, longestStallMs, keyUpdates } = downloads;
  return {
    fault: fault.name,
    keys: keyMode,
    requests,
    failures,
    bytesLost,
    longestStallMs: Math.round(longestStallMs),
    statedMs: fault.statedMs,
    keyUpdates,
    interrupted,
  };
}

async function breakDuring(downloads: Downloads, site: MultiEndSite, fault: Fault): Promise<void> {
  await site.serving(fault.backends);
  await downloads.open(fault.backends);
  downloads.begin();
  // All backends are sending: their links carry 12 Mbit/s each, and no download is shorter than a second.
  const beginning = { timeout: 60_000, interval: 20 };
  await vi.waitFor(
    () =>
      Array.from({ length: fault.backends }, (_, backend) =>
        expect(downloads.receivedFrom(backend)).toBeGreaterThan(300_000),
      ),
    beginning,
  );
  downloads.measure();
  await fault.happen(site, downloads);
  downloads.mark();
  await vi.waitFor(
    async () => {
      expect(downloads.since).toBeGreaterThan(5);
      await fault.seen?.(site, downloads);
    },
    { timeout: 90_000, interval: 100 },
  );
  await downloads.end();
  await fault.undo?.(site);
}

const nodes = ['site', 'backend1', 'backend2', 'backend3'] as const;

/**
 * What clients of a site of several processes see while everything breaks in turn. They update their keys all the time.
 * Each fault is a test of its own; they share a site, since it takes a while to start.
 */
export function describeFaults(keyMode: BackendKeyMode): void {
  describe(`a site of several processes fails no request and loses no byte, ${keyMode} keys`, () => {
    let site: MultiEndSite | undefined;
    let sound = false;
    afterAll(() => site?.stop());

    it.each(faults)('$name', { timeout: 300_000 }, async (fault) => {
      // What a fault left broken shall not be taken for a consequence of the next one.
      if (!sound) await site?.stop();
      if (!site || !sound) site = await MultiEndSite.start(nodes.slice(0, 1 + fault.backends));
      sound = false;
      const row = await suffer(site, fault, keyMode);
      sound = row.interrupted === undefined;
      process.stdout.write(`${JSON.stringify(row)}\n`);
      const { failures, bytesLost, interrupted } = row;
      expect({ failures, bytesLost, interrupted }).toEqual({ failures: [], bytesLost: 0, interrupted: undefined });
      // Keys were updated while something was broken, not only where nothing was.
      expect(row.keyUpdates).toBeGreaterThan(0);
    });
  });
}
