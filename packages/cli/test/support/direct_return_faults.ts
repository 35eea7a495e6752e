import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '@sheaf/gateway';
import { expect, vi } from 'vitest';
import { Downloads, type DownloadsOptions } from './downloads.js';
import type { MultiEndSite } from './multi_end_site.js';

export interface Fault {
  name: string;
  /** The longest stall that this fault may cause; printed beside what was seen. */
  statedMs: number;
  /** The bytes that clients ask for. Default: the whole file */
  part?: readonly [first: number, last: number];
  happen(site: MultiEndSite, downloads: Downloads): Promise<void> | void;
  /** What has to be seen before the downloads may end. */
  seen?(site: MultiEndSite): Promise<void> | void;
  undo?(site: MultiEndSite): Promise<void> | void;
}

const backends = 3;
/** After this time of silence the client opens another connection. */
const clientIdleMs = 5_000;

async function isLost(site: MultiEndSite, backend: number): Promise<void> {
  expect((await site.backends())[backend]?.state).toBe('lost');
}

/** RFC 9000 §9.3: the gateway sees the client elsewhere, which does not know of it. */
function behindAnotherPort(): Fault {
  let before: string | undefined;
  return {
    name: 'client behind another port',
    statedMs: 1_000,
    happen: async (site) => {
      [before] = await site.clientAddresses();
      expect(before).toBeDefined();
      await site.rebindLinks();
    },
    seen: async (site) => expect([undefined, before]).not.toContain((await site.clientAddresses())[0]),
  };
}

/** What happens to backends that send from the gateway's address, and to their clients */
export const faults: readonly Fault[] = [
  {
    name: 'backend killed',
    statedMs: 1_500,
    happen: (site) => site.kill('backend2'),
    seen: (site) => isLost(site, 1),
    undo: (site) => site.run('backend2'),
  },
  {
    name: 'backend killed, parts of a file',
    statedMs: 1_500,
    part: [100_001, 1_400_000],
    happen: (site) => site.kill('backend1'),
    undo: (site) => site.run('backend1'),
  },
  {
    name: 'backend stopped for a second',
    statedMs: 1_500,
    happen: async (site) => {
      site.signal('backend3', 'SIGSTOP');
      await sleep(1_000);
      site.signal('backend3', 'SIGCONT');
    },
  },
  {
    name: 'backend drains',
    statedMs: 500,
    happen: (site) => site.drain('backend1', 'drain'),
    undo: (site) => site.drain('backend1', 'resume'),
  },
  {
    name: 'backend ends by SIGTERM',
    statedMs: 1_500,
    happen: (site) => site.kill('backend3', 'SIGTERM'),
    undo: (site) => site.run('backend3'),
  },
  {
    name: 'backbone cut',
    statedMs: 4_000,
    happen: (site) => site.cutBackbone(1, true),
    seen: (site) => isLost(site, 1),
    undo: (site) => site.cutBackbone(1, false),
  },
  behindAnotherPort(),
  { name: 'client at another address', statedMs: 1_000, happen: (_site, downloads) => downloads.moveTo('127.0.0.2') },
  { name: 'second path opened', statedMs: 1_000, happen: (_site, downloads) => downloads.openPath('127.0.0.3') },
  { name: 'downloads given up', statedMs: 500, happen: (_site, downloads) => downloads.abandonSome(20) },
  { name: 'client reads nothing for 2 s', statedMs: 500, happen: (_site, downloads) => downloads.pause(2_000) },
  {
    name: 'gateway killed',
    statedMs: clientIdleMs + 3_000,
    happen: async (site) => {
      await site.kill('site');
      await site.run('site');
    },
  },
];

/** What a client sees of a fault */
export interface Row {
  fault: string;
  delivery: 'return';
  requests: number;
  /** Why requests failed */
  failures: string[];
  bytesLost: number;
  longestStallMs: number;
  statedMs: number;
  keyUpdates: number;
  /** Responses that backends sent to their end */
  returned: number;
  /** How many responses the gateway sent, or continued, for each reason */
  fallbacks: Record<string, number>;
  /** Why downloads did not go on after it; undefined when they did. */
  interrupted: string | undefined;
}

/** Asserts nothing about the row, so that it is printed whatever it says. */
export async function suffer(site: MultiEndSite, fault: Fault): Promise<Row> {
  const before = site.responses().length;
  const options: DownloadsOptions = {
    port: site.linkToGateway(),
    path: '/any/file.bin',
    content: site.file,
    idleTimeoutMs: clientIdleMs,
    ...(fault.part && { part: fault.part }),
  };
  const downloads = new Downloads(options);
  const interrupted = await breakDuring(downloads, site, fault).then(
    () => undefined,
    async (error: unknown) => {
      const stuck = await downloads.abandon().catch((reason: unknown) => `; ${errorMessage(reason)}`);
      return `${errorMessage(error)}${stuck ?? ''}`;
    },
  );
  const responses = site.responses().slice(before);
  const fallbacks: Record<string, number> = {};
  for (const { fallback } of responses)
    if (fallback !== undefined) fallbacks[fallback] = (fallbacks[fallback] ?? 0) + 1;
  return {
    fault: fault.name,
    delivery: 'return',
    requests: downloads.requests,
    failures: downloads.failures,
    bytesLost: downloads.bytesLost,
    longestStallMs: Math.round(downloads.longestStallMs),
    statedMs: fault.statedMs,
    keyUpdates: downloads.keyUpdates,
    returned: responses.filter(({ delivery, fallback }) => delivery === 'return' && fallback === undefined).length,
    fallbacks,
    interrupted,
  };
}

async function breakDuring(downloads: Downloads, site: MultiEndSite, fault: Fault): Promise<void> {
  await site.serving(backends);
  await downloads.open(0);
  downloads.begin();
  // The first responses have come, and all backends send others.
  await vi.waitFor(() => expect(downloads.bytesReceived).toBeGreaterThan(10_000_000), {
    timeout: 60_000,
    interval: 20,
  });
  downloads.measure();
  await fault.happen(site, downloads);
  downloads.mark();
  await vi.waitFor(
    async () => {
      expect(downloads.since).toBeGreaterThan(5);
      await fault.seen?.(site);
    },
    { timeout: 90_000, interval: 100 },
  );
  await downloads.end();
  await fault.undo?.(site);
}
