// What is common to the faults of a site of several processes, whatever way responses take.
import { errorMessage } from '@sheaf/gateway';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { Downloads } from './downloads.js';
import { MultiEndSite } from './multi_end_site.js';

/** What breaks while clients download from a site. A fault is there for one run: some remember what they have seen. */
export interface Fault {
  name: string;
  /** The longest stall that this fault may cause; printed beside what was seen. */
  statedMs: number;
  /** Backends that are there before. Default 3 */
  backends?: number;
  happen(site: MultiEndSite, downloads: Downloads): Promise<void> | void;
  /** What has to be seen before the downloads may end. */
  seen?(site: MultiEndSite, downloads: Downloads): Promise<void> | void;
  undo?(site: MultiEndSite): Promise<void> | void;
}

/** What a client sees of a fault */
export interface Suffered {
  fault: string;
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

export interface Suffering {
  downloads: Downloads;
  /** Number of backends to which the client has paths of its own */
  paths: number;
  /** Fails until enough has come for the fault to happen. */
  begun(): void;
}

/** Lets a fault happen. Asserts nothing about the result, so that it is printed whatever it says. */
export async function suffer(site: MultiEndSite, fault: Fault, suffering: Suffering): Promise<Suffered> {
  const { downloads } = suffering;
  const interrupted = await breakDuring(suffering, site, fault).then(
    () => undefined,
    async (error: unknown) => {
      const stuck = await downloads.abandon().catch((reason: unknown) => `; ${errorMessage(reason)}`);
      return `${errorMessage(error)}${stuck ?? ''}`;
    },
  );
  const { requests, failures, bytesLost, longestStallMs, keyUpdates } = downloads;
  return {
    fault: fault.name,
    requests,
    failures,
    bytesLost,
    longestStallMs: Math.round(longestStallMs),
    statedMs: fault.statedMs,
    keyUpdates,
    interrupted,
  };
}

async function breakDuring({ downloads, paths, begun }: Suffering, site: MultiEndSite, fault: Fault): Promise<void> {
  await site.serving(fault.backends ?? 3);
  await downloads.open(paths);
  downloads.begin();
  await vi.waitFor(begun, { timeout: 60_000, interval: 20 });
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

export interface FaultTests<Broken extends Fault, Row extends Suffered> {
  title: string;
  faults: readonly Broken[];
  start(fault: Broken): Promise<MultiEndSite>;
  suffer(site: MultiEndSite, fault: Broken): Promise<Row>;
  /** Asserts what is particular to these faults. */
  judge?(row: Row, fault: Broken): void;
}

/** Makes a test of each fault. They share a site, since it takes a while to start. */
export function describeFaults<Broken extends Fault, Row extends Suffered>(tests: FaultTests<Broken, Row>): void {
  describe(tests.title, () => {
    let site: MultiEndSite | undefined;
    let sound = false;
    afterAll(() => site?.stop());

    it.each(tests.faults)('$name', { timeout: 300_000 }, async (fault) => {
      // What a fault left broken shall not be taken for a consequence of the next one.
      if (!sound) await site?.stop();
      if (!site || !sound) site = await tests.start(fault);
      sound = false;
      const row = await tests.suffer(site, fault);
      sound = row.interrupted === undefined;
      process.stdout.write(`${JSON.stringify(row)}\n`);
      const { failures, bytesLost, interrupted } = row;
      expect({ failures, bytesLost, interrupted }).toEqual({ failures: [], bytesLost: 0, interrupted: undefined });
      // Keys were updated while something was broken, not only where nothing was.
      expect(row.keyUpdates).toBeGreaterThan(0);
      tests.judge?.(row, fault);
    });
  });
}

// --- faults that concern every way of responses ---------------------------------------------------------------------

async function isLost(site: MultiEndSite, backend: number): Promise<void> {
  expect((await site.backends())[backend]?.state).toBe('lost');
}

export const backendKilled = (statedMs: number): Fault => ({
  name: 'backend killed',
  statedMs,
  happen: (site) => site.kill('backend2'),
  seen: (site) => isLost(site, 1),
  undo: (site) => site.run('backend2'),
});

export const backendDrains = (statedMs: number): Fault => ({
  name: 'backend drains',
  statedMs,
  happen: (site) => site.drain('backend1', 'drain'),
  undo: (site) => site.drain('backend1', 'resume'),
});

export const backboneCut = (statedMs: number): Fault => ({
  name: 'backbone cut',
  statedMs,
  happen: (site) => site.cutBackbone(1, true),
  seen: (site) => isLost(site, 1),
  undo: (site) => site.cutBackbone(1, false),
});

export const clientMoves = (statedMs: number): Fault => ({
  name: 'client at another address',
  statedMs,
  happen: (_site, downloads) => downloads.moveTo('127.0.0.2'),
});

/** RFC 9000 §9.3: these nodes see the client elsewhere, which does not know of it. The gateway is the first. */
export function behindAnotherPort(statedMs: number, nodes: number): Fault {
  let before: (string | undefined)[] = [];
  return {
    name: 'client behind another port',
    statedMs,
    happen: async (site) => {
      before = (await site.clientAddresses()).slice(0, nodes);
      expect(before).not.toContain(undefined);
      await site.rebindLinks();
    },
    seen: async (site) => {
      const addresses = await site.clientAddresses();
      before.forEach((address, node) => expect([undefined, address]).not.toContain(addresses[node]));
    },
  };
}

export const gatewayKilled = (name: string, statedMs: number): Fault => ({
  name,
  statedMs,
  happen: async (site) => {
    await site.kill('site');
    await site.run('site');
  },
});
