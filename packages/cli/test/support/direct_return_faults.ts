import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { Downloads, type DownloadsOptions } from './downloads.js';
import {
  backboneCut,
  backendDrains,
  backendKilled,
  behindAnotherPort,
  clientMoves,
  gatewayKilled,
  suffer as sufferFault,
  type Fault,
  type Suffered,
} from './faults.js';
import type { MultiEndSite } from './multi_end_site.js';

export interface ReturnFault extends Fault {
  /** The file that clients ask for. Default `/any/file.bin` */
  path?: string;
  /** The bytes that clients ask for. Default: the whole file */
  part?: readonly [first: number, last: number];
  /** Whether responses that nobody can go on with fail, and requests that nobody is there to answer */
  fails?: true;
  /** Why the gateway itself sends responses during the fault; default: the backends send some. */
  fallback?: string;
}

/** After this time of silence the client opens another connection. */
const clientIdleMs = 5_000;

/** A file that each backend has another version of */
const ownFile = '/own/file.bin';

/** What happens to backends that send from the gateway's address, and to their clients */
export const faults: readonly ReturnFault[] = [
  backendKilled(1_500),
  {
    name: 'backend killed, parts of a file',
    statedMs: 1_500,
    part: [10_001, 490_000],
    happen: (site) => site.kill('backend1'),
    undo: (site) => site.run('backend1'),
  },
  {
    name: 'backend killed, others have another entity tag',
    statedMs: 4_000,
    path: ownFile,
    fails: true,
    happen: (site) => site.kill('backend2'),
    undo: (site) => site.run('backend2'),
  },
  {
    name: 'backend killed, weak entity tag',
    statedMs: 4_000,
    path: '/any/fresh.bin',
    fails: true,
    fallback: 'unknown',
    happen: (site) => site.kill('backend3'),
    undo: (site) => site.run('backend3'),
  },
  {
    name: 'last backend killed',
    statedMs: 4_000,
    path: '/alone/file.bin',
    fails: true,
    happen: async (site, downloads) => {
      await site.kill('backend1');
      await vi.waitFor(() => expect(downloads.failures).not.toEqual([]), 30_000);
      await site.run('backend1');
      await site.serving(3);
    },
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
    // Longer than its backends keep grants. What clients wait for counts from its return on.
    name: 'gateway stopped for 1.5 s',
    statedMs: 1_500,
    happen: async (site, downloads) => {
      site.signal('site', 'SIGSTOP');
      await sleep(1_500);
      site.signal('site', 'SIGCONT');
      downloads.measure();
    },
  },
  backendDrains(500),
  {
    name: 'backend ends by SIGTERM',
    statedMs: 1_500,
    happen: (site) => site.kill('backend3', 'SIGTERM'),
    undo: (site) => site.run('backend3'),
  },
  backboneCut(4_000),
  behindAnotherPort(1_000, 1),
  clientMoves(1_000),
  { name: 'second path opened', statedMs: 1_000, happen: (_site, downloads) => downloads.openPath('127.0.0.3') },
  {
    name: 'requests in 0-RTT',
    statedMs: 500,
    fallback: 'early-data',
    happen: (_site, downloads) => downloads.resume(3),
    // Later ones of the connection are returned.
    seen: (site) => {
      const early = site.responses().find(({ fallback }) => fallback === 'early-data');
      const later = site
        .responses()
        .filter(({ connection, fallback }) => connection === early?.connection && fallback === undefined);
      expect(later.map(({ delivery }) => delivery)).toContain('return');
    },
  },
  { name: 'downloads given up', statedMs: 500, happen: (_site, downloads) => downloads.abandonSome(20) },
  { name: 'client reads nothing for 2 s', statedMs: 500, happen: (_site, downloads) => downloads.pause(2_000) },
  gatewayKilled('gateway killed', clientIdleMs + 3_000),
];

/** What a client sees of a fault */
export interface ReturnRow extends Suffered {
  delivery: 'return';
  /** Requests that failed where the fault permits it */
  refused: number;
  /** Responses that backends sent to their end */
  returned: number;
  /** How many responses the gateway sent, or continued, for each reason */
  fallbacks: Record<string, number>;
}

/** Asserts nothing about the row, so that it is printed whatever it says. */
export async function suffer(site: MultiEndSite, fault: ReturnFault): Promise<ReturnRow> {
  const before = site.responses().length;
  const options: DownloadsOptions = {
    port: site.linkToGateway(),
    path: fault.path ?? '/any/file.bin',
    content: site.file,
    ...(fault.path === ownFile && { others: site.own }),
    idleTimeoutMs: clientIdleMs,
    ...(fault.part && { part: fault.part }),
  };
  const downloads = new Downloads(options);
  // The first responses have come, and all backends send others.
  const begun = (): void => expect(downloads.bytesReceived).toBeGreaterThan(7 * site.file.length);
  const row = await sufferFault(site, fault, { downloads, paths: 0, begun });
  const responses = site.responses().slice(before);
  const fallbacks: Record<string, number> = {};
  for (const { fallback } of responses)
    if (fallback !== undefined) fallbacks[fallback] = (fallbacks[fallback] ?? 0) + 1;
  return {
    ...row,
    delivery: 'return',
    ...(fault.fails ? { failures: [], refused: row.failures.length } : { refused: 0 }),
    returned: responses.filter(({ delivery, fallback }) => delivery === 'return' && fallback === undefined).length,
    fallbacks,
  };
}
