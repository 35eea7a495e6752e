import type { BackendKeyMode } from '@sheaf/native';
import { expect } from 'vitest';
import { Downloads } from './downloads.js';
import {
  backboneCut,
  backendDrains,
  backendKilled,
  behindAnotherPort,
  clientMoves,
  describeFaults,
  gatewayKilled,
  suffer,
  type Fault,
  type Suffered,
} from './faults.js';
import { MultiEndSite } from './multi_end_site.js';

const faults: readonly Fault[] = [
  {
    name: 'backend joins',
    statedMs: 1_000,
    backends: 2,
    happen: (site) => site.run('backend3'),
    seen: (_site, downloads) => expect(downloads.receivedFrom(2)).toBeGreaterThan(100_000),
  },
  backendDrains(1_000),
  backendKilled(4_000),
  {
    name: 'path to a backend cut',
    statedMs: 4_000,
    happen: (site) => site.cutPath(0, true),
    undo: (site) => site.cutPath(0, false),
  },
  backboneCut(8_000),
  behindAnotherPort(500, 4),
  clientMoves(1_000),
  gatewayKilled('primary killed', 18_000),
];

interface Row extends Suffered {
  keys: BackendKeyMode;
}

async function sufferWith(keys: BackendKeyMode, site: MultiEndSite, fault: Fault): Promise<Row> {
  const downloads = new Downloads({
    port: site.linkToGateway(),
    path: '/any/file.bin',
    content: site.file,
    keyMode: keys,
  });
  const { backends: paths = 3 } = fault;
  // All backends are sending: their links carry 12 Mbit/s each, and no download is shorter than a second.
  const begun = (): void => {
    for (let backend = 0; backend < paths; backend++) expect(downloads.receivedFrom(backend)).toBeGreaterThan(300_000);
  };
  return { ...(await suffer(site, fault, { downloads, paths, begun })), keys };
}

const nodes = ['site', 'backend1', 'backend2', 'backend3'] as const;

/** What clients of a site of several processes see while everything breaks in turn. They update their keys all the time. */
export function describeMultiEndFaults(keys: BackendKeyMode): void {
  describeFaults({
    title: `a site of several processes fails no request and loses no byte, ${keys} keys`,
    faults,
    start: ({ backends = 3 }) => MultiEndSite.start(nodes.slice(0, 1 + backends)),
    suffer: (site, fault) => sufferWith(keys, site, fault),
  });
}
