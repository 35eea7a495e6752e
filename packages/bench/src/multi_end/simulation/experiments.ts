import { pageResources } from '../../pages/build/fixtures.js';
import { ALL_PAGES } from '../../pages/simulation/page.js';
import type { Topology, TransferSetting } from './setting.js';

export const DELIVERIES = ['direct', 'proxied'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** A transfer that is measured once with direct delivery, and once proxied */
export interface TransferExperiment {
  name: string;
  kind: 'download' | 'upload' | 'backends' | 'page';
  topology: Topology;
  transfers: TransferSetting[];
  /** Maximum ratio */
  most?: number;
  /**
   * Published ratio. The paper's text gives one figure for its experiment, "about 50 %" lower, without the values of
   * its charts.
   */
  paper_ratio?: number;
}

const GIGABIT = 1000;
const SIZES = [1_000, 10_000, 100_000, 500_000, 1_000_000, 10_000_000];
const UPLOAD_BYTES = 10_000_000;
/** Size of the response to an upload */
const RECEIPT_BYTES = 100;
/** Delays of the paper (§3): 1 ms between all hosts, and a primary that is 10 ms farther from the client */
const PAPER_DELAY_MS = { same: 1, 'far-primary': 11 };
const FAR_PRIMARY: keyof typeof PAPER_DELAY_MS = 'far-primary';
const FAR_MOST = { ratio: 0.5, bytes: 1_000_000 };
const PAPER_RATIO = 0.5;

/** Returns all experiments. @throws UserError outside of the repository */
export async function transferExperiments(): Promise<TransferExperiment[]> {
  return [
    ...paperExperiments(),
    ...[2, 4, 8].map(backendsExperiment),
    ...(await Promise.all(ALL_PAGES.map(pageExperiment))),
  ];
}

function paperExperiments(): TransferExperiment[] {
  const link = { mbps: GIGABIT, delay_ms: PAPER_DELAY_MS.same };
  return Object.entries(PAPER_DELAY_MS).flatMap(([name, delay_ms]): TransferExperiment[] => {
    const topology = { name, primary: { mbps: GIGABIT, delay_ms }, backends: [{ client: link, primary: link }] };
    const far = name === FAR_PRIMARY;
    return [
      ...SIZES.map((answer_bytes): TransferExperiment => ({
        name: `${name}/download/${answer_bytes}`,
        kind: 'download',
        topology,
        transfers: [{ answer_bytes, upload_bytes: 0, backend: 0 }],
        paper_ratio: PAPER_RATIO,
        ...(far && answer_bytes <= FAR_MOST.bytes && { most: FAR_MOST.ratio }),
      })),
      {
        name: `${name}/upload/${UPLOAD_BYTES}`,
        kind: 'upload',
        topology,
        transfers: [{ answer_bytes: RECEIPT_BYTES, upload_bytes: UPLOAD_BYTES, backend: 0 }],
      },
    ];
  });
}

/** Returns an experiment with backends at different distances, which each send a megabyte at the same time. */
function backendsExperiment(count: number): TransferExperiment {
  const delays = [1, 3, 5, 8, 12, 18, 25, 40].slice(0, count);
  const backends = delays.map((delay_ms) => ({
    client: { mbps: 200, delay_ms },
    primary: { mbps: GIGABIT, delay_ms },
  }));
  const topology = {
    name: `${count}-backends`,
    primary: { mbps: GIGABIT, delay_ms: 10 },
    backends,
    access: { mbps: 500, queue_bytes: 1 << 20 },
  };
  return {
    name: topology.name,
    kind: 'backends',
    topology,
    transfers: backends.map((_, backend) => ({ answer_bytes: 1_000_000, upload_bytes: 0, backend })),
  };
}

/** Returns an experiment that requests all resources of a page at once, from four backends in turn. */
async function pageExperiment(page: (typeof ALL_PAGES)[number]): Promise<TransferExperiment> {
  const backends = [5, 8, 12, 20].map((delay_ms) => ({
    client: { mbps: GIGABIT, delay_ms },
    primary: { mbps: GIGABIT, delay_ms: 10 },
  }));
  const topology = {
    name: `4-backends, ${page}`,
    primary: { mbps: GIGABIT, delay_ms: 20 },
    backends,
    access: { mbps: 50, queue_bytes: 256 << 10 },
  };
  const resources = await pageResources(page);
  return {
    name: topology.name,
    kind: 'page',
    topology,
    transfers: resources.map(({ bytes }, index) => ({
      answer_bytes: Math.max(1, bytes),
      upload_bytes: 0,
      backend: index % backends.length,
    })),
  };
}

// --- faults -------------------------------------------------------------------------------------

export const FAULTS = [
  'none',
  'backend-crash',
  'backend-drain',
  'backend-join',
  'primary-crash',
  'backbone-cut',
  'path-cut',
  'client-rebinding',
  'client-migration',
] as const;
export const KEY_MODES = ['per-path', 'shared'] as const;

export interface FaultExperiment {
  fault: (typeof FAULTS)[number];
  keys: (typeof KEY_MODES)[number];
  /** Whether keys are updated at about the same time */
  key_update: boolean;
}

export const faultExperiments: readonly FaultExperiment[] = FAULTS.flatMap((fault) =>
  KEY_MODES.flatMap((keys) => [false, true].map((key_update) => ({ fault, keys, key_update }))),
);

export const faultName = ({ fault, keys, key_update }: FaultExperiment): string =>
  `${fault}/${keys}${key_update ? '/key-update' : ''}`;
