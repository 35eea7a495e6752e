import { z } from 'zod';
import type { Experiment, ExperimentContext } from '../experiment.js';
import { describeMachine, type Machine } from '../measure/machine.js';
import { distribution, round, type Distribution } from '../measure/statistics.js';
import type { Sample } from './sample.js';
import { buildPeers, buildSheaf, runSubject, type Skipped, type Subject } from './subjects.js';

/** Sheaf as its endpoints dispatch, beside its connections alone */
const THROUGH_ENDPOINT = 'sheaf, through Endpoint';
const ownLibraries: ReadonlySet<string> = new Set(['sheaf', THROUGH_ENDPOINT]);

/** Required ratio of Sheaf's goodput to that of the best peer */
const REQUIRED_RATIO = 1.5;

const optionsSchema = z.strictObject({
  peers: z.boolean().default(false),
  check: z.boolean().default(false),
  runs: z.coerce.number().int().min(1).default(30),
  bytes: z.coerce.number().int().min(1_000_000).default(100_000_000),
});

export interface EngineResult {
  library: string;
  version: string;
  /** Application bits per second while the server produces packets */
  generation_gbps: number;
  /** Application bits per second while the client processes packets and reads the stream */
  processing_gbps: number;
  /** Microseconds in which the server processes 1,000 acknowledgement packets */
  server_ack_us_per_1k: number;
  /** Microseconds in which the client creates 1,000 acknowledgement packets */
  client_ack_us_per_1k: number;
  /** Application bits per second of the calls that pass stream data to the library; null when there are none */
  stream_write_gbps: number | null;
  runs: number;
  /** Quartiles of each figure */
  spread: {
    generation_gbps: [number, number];
    processing_gbps: [number, number];
    server_ack_us_per_1k: [number, number];
  };
}

export interface EngineReport {
  experiment: 'engine';
  machine: Machine;
  parameters: {
    bytes: number;
    packet_bytes: 1350;
    batch_packets: 32;
    packets_per_ack: 2;
    cipher: 'AES-128-GCM';
    runs: number;
  };
  results: EngineResult[];
  skipped: Skipped[];
  /** Sheaf against the best peer; absent when no peer ran */
  ratio?: Ratio;
}

/** Ratio of Sheaf's goodput to that of the best peer */
export interface Ratio {
  generation: number;
  processing: number;
  best: { generation: string; processing: string };
  required: number;
  /** Whether both ratios are at least `required` */
  met: boolean;
}

export const engineBench: Experiment = {
  name: 'engine',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, context) {
    const options = optionsSchema.parse(rawOptions);
    const report = await measure(options, context);
    const missed = options.check ? missedMark(report.ratio) : undefined;
    return { report, tables: [table(report)], ...(missed !== undefined && { failure: missed }) };
  },
};

async function measure(options: z.infer<typeof optionsSchema>, { progress }: ExperimentContext): Promise<EngineReport> {
  const machine = describeMachine();
  const sheaf = await buildSheaf(progress);
  const subjects: Subject[] = [sheaf, { ...sheaf, library: THROUGH_ENDPOINT, transfer: { endpoint: true } }];
  const skipped: Skipped[] = [];
  if (options.peers) {
    const peers = await buildPeers(progress);
    subjects.push(...peers.subjects);
    skipped.push(...peers.skipped);
  }
  const results = await measureInTurns(subjects, options, progress);
  const ratio = compare(results);
  return {
    experiment: 'engine',
    machine,
    parameters: {
      bytes: options.bytes,
      packet_bytes: 1350,
      batch_packets: 32,
      packets_per_ack: 2,
      cipher: 'AES-128-GCM',
      runs: options.runs,
    },
    results,
    skipped,
    ...(ratio && { ratio }),
  };
}

/** Measures the libraries in turns, so that a disturbance of the machine affects all of them. */
async function measureInTurns(
  subjects: readonly Subject[],
  { runs, bytes }: { runs: number; bytes: number },
  progress: (line: string) => void,
): Promise<EngineResult[]> {
  const samples = new Map<Subject, Sample[]>(subjects.map((subject) => [subject, []]));
  const versions = new Map<Subject, string>();
  const turns = Math.min(runs, 10);
  for (let turn = 0; turn < turns; turn += 1) {
    const share = Math.floor(runs / turns) + (turn < runs % turns ? 1 : 0);
    progress(`turn ${turn + 1} of ${turns}: ${subjects.map((subject) => subject.library).join(', ')}`);
    for (const subject of subjects) {
      const output = await runSubject(subject, { runs: share, bytes });
      samples.get(subject)?.push(...output.samples);
      versions.set(subject, output.version);
    }
  }
  return subjects.map((subject) =>
    summarize(subject.library, versions.get(subject) ?? 'unknown', samples.get(subject) ?? []),
  );
}

export function summarize(library: string, version: string, samples: readonly Sample[]): EngineResult {
  const figure = (value: (sample: Sample) => number): Distribution => distribution(samples.map(value));
  const generation = figure((sample) => (sample.bytes * 8) / sample.generation_ns);
  const processing = figure((sample) => (sample.bytes * 8) / sample.processing_ns);
  const serverAck = figure((sample) => sample.server_ack_ns / sample.acks);
  const clientAck = figure((sample) => sample.client_ack_ns / sample.acks);
  const write = samples.every((sample) => sample.stream_write_ns > 0)
    ? figure((sample) => (sample.bytes * 8) / sample.stream_write_ns)
    : undefined;
  const quartiles = ({ quartiles: [low, high] }: Distribution): [number, number] => [round(low), round(high)];
  return {
    library,
    version,
    generation_gbps: round(generation.median),
    processing_gbps: round(processing.median),
    // Nanoseconds for one packet are microseconds for a thousand.
    server_ack_us_per_1k: round(serverAck.median),
    client_ack_us_per_1k: round(clientAck.median),
    stream_write_gbps: write ? round(write.median) : null,
    runs: samples.length,
    spread: {
      generation_gbps: quartiles(generation),
      processing_gbps: quartiles(processing),
      server_ack_us_per_1k: quartiles(serverAck),
    },
  };
}

/** Returns the requirement that the comparison misses; undefined when it misses none. */
export function missedMark(ratio: Ratio | undefined): string | undefined {
  if (!ratio) return 'no other library was measured: add --peers';
  return ratio.met
    ? undefined
    : `generation is ${ratio.generation} and processing ${ratio.processing} times the best peer's, not ${ratio.required} times`;
}

/** Compares Sheaf with its peers; undefined when no peer was measured. */
export function compare(results: readonly EngineResult[]): Ratio | undefined {
  const own = results.find((result) => result.library === 'sheaf');
  const peers = results.filter(({ library }) => !ownLibraries.has(library));
  if (!own || peers.length === 0) return undefined;
  const against = (figure: (result: EngineResult) => number): { ratio: number; library: string } => {
    const best = peers.reduce((left, right) => (figure(right) > figure(left) ? right : left));
    return { ratio: figure(own) / figure(best), library: best.library };
  };
  const generation = against((result) => result.generation_gbps);
  const processing = against((result) => result.processing_gbps);
  return {
    generation: round(generation.ratio, 3),
    processing: round(processing.ratio, 3),
    best: { generation: generation.library, processing: processing.library },
    required: REQUIRED_RATIO,
    met: Math.min(generation.ratio, processing.ratio) >= REQUIRED_RATIO,
  };
}

function table(report: EngineReport): { head: string[]; rows: string[][]; notes: string[] } {
  const notes = report.skipped.map(({ library, reason }) => `skipped ${library}: ${reason}`);
  if (report.ratio) notes.push(ratioLine(report.ratio));
  return {
    head: ['library', 'version', 'generation Gbit/s', 'processing Gbit/s', 'server ack ns', 'client ack ns', 'runs'],
    rows: report.results.map((result) => [
      result.library,
      result.version,
      withSpread(result.generation_gbps, result.spread.generation_gbps),
      withSpread(result.processing_gbps, result.spread.processing_gbps),
      withSpread(result.server_ack_us_per_1k, result.spread.server_ack_us_per_1k),
      String(result.client_ack_us_per_1k),
      String(result.runs),
    ]),
    notes,
  };
}

function ratioLine({ generation, processing, best, required, met }: Ratio): string {
  return `sheaf over the best peer: generation ${generation} (${best.generation}), processing ${processing} (${best.processing}); at least ${required} wanted: ${met ? 'met' : 'NOT met'}`;
}

export const withSpread = (median: number, [low, high]: [number, number]): string => `${median} (${low} to ${high})`;
