import { distribution, mean, round } from '../../measure/statistics.js';
import { faultName, type Delivery, type FaultExperiment, type TransferExperiment } from './experiments.js';
import type { FaultRun, TransferRun } from './runs.js';
import { JITTER_MS } from './setting.js';

/** Medians in milliseconds, with quartiles */
export interface TransferCell {
  topology: string;
  kind: TransferExperiment['kind'];
  backends: number;
  requests: number;
  /** Bytes in both directions together */
  bytes: number;
  runs: number;
  /** Time until the transfer is complete */
  direct_ms: number;
  direct_spread_ms: [number, number];
  proxied_ms: number;
  proxied_spread_ms: [number, number];
  /** direct / proxied */
  ratio: number;
  paper_ratio?: number;
  /** Ratio of the requests' mean completion times */
  object_ratio: number;
  /** Time to the first byte of one request's response from the backend */
  first_byte_ms?: number;
  /** Round-trip time between client and backend, without jitter */
  round_trip_ms?: number;
}

/** Outcome of requests during a fault */
export interface FaultCell extends FaultExperiment {
  runs: number;
  requests: number;
  /** Requests that failed after all attempts of the client */
  requests_failed: number;
  bytes_lost: number;
  /** Requests that were sent to another server; some of them only for the rest */
  repeated: number;
  resumed: number;
  key_updates: number;
  median_stall_ms: number;
  longest_stall_ms: number;
  /** Seed of the run with the longest stall */
  longest_stall_seed: number;
  bound_ms: number;
  /** Datagrams with a long header that reached a backend */
  handshake_datagrams: number;
}

export function transferCell(
  { kind, topology, transfers, paper_ratio }: TransferExperiment,
  runs: Readonly<Record<Delivery, readonly TransferRun[]>>,
): TransferCell {
  const last = (delivery: Delivery) => distribution(runs[delivery].map(({ done_ms }) => Math.max(...done_ms)));
  const objects = (delivery: Delivery) => distribution(runs[delivery].map(({ done_ms }) => mean(done_ms))).median;
  const direct = last('direct');
  const proxied = last('proxied');
  const [backend] = topology.backends;
  return {
    topology: topology.name,
    kind,
    backends: topology.backends.length,
    requests: transfers.length,
    bytes: transfers.reduce((sum, { answer_bytes, upload_bytes }) => sum + answer_bytes + upload_bytes, 0),
    runs: runs.direct.length,
    direct_ms: round(direct.median),
    direct_spread_ms: spread(direct.quartiles),
    proxied_ms: round(proxied.median),
    proxied_spread_ms: spread(proxied.quartiles),
    ratio: round(direct.median / proxied.median, 3),
    ...(paper_ratio !== undefined && { paper_ratio }),
    object_ratio: round(objects('direct') / objects('proxied'), 3),
    ...(kind === 'download' &&
      backend && {
        first_byte_ms: round(distribution(runs.direct.map(({ first_ms }) => first_ms[0] ?? 0)).median),
        round_trip_ms: 2 * backend.client.delay_ms,
      }),
  };
}

/** Returns the requirements that a cell misses. */
export function transferFaults({ name, most }: TransferExperiment, cell: TransferCell): string[] {
  const found: string[] = [];
  if (most !== undefined && cell.ratio > most)
    found.push(`${name}: ${cell.ratio} of the time of proxying, more than ${most}`);
  if (cell.first_byte_ms !== undefined && cell.round_trip_ms !== undefined) {
    // The jitter of both directions, and a packet's time on the wire in each direction
    const latest = cell.round_trip_ms + 2 * JITTER_MS + 0.1;
    if (cell.first_byte_ms > latest)
      found.push(`${name}: the first byte after ${cell.first_byte_ms} ms, later than a round trip (${latest} ms)`);
  }
  return found;
}

export function faultCell(experiment: FaultExperiment, runs: readonly FaultRun[]): FaultCell {
  const sum = (value: (run: FaultRun) => number): number => runs.reduce((total, run) => total + value(run), 0);
  const longest = runs.reduce((most, run) => (run.stall_ms > most.stall_ms ? run : most));
  return {
    ...experiment,
    runs: runs.length,
    requests: sum(({ requests }) => requests),
    requests_failed: sum(({ failed }) => failed),
    bytes_lost: sum(({ bytes_lost }) => bytes_lost),
    repeated: sum(({ repeated }) => repeated),
    resumed: sum(({ resumed }) => resumed),
    key_updates: sum(({ key_updates }) => key_updates),
    median_stall_ms: Math.round(distribution(runs.map(({ stall_ms }) => stall_ms)).median),
    longest_stall_ms: Math.round(longest.stall_ms),
    longest_stall_seed: longest.seed,
    bound_ms: longest.bound_ms,
    handshake_datagrams: sum(({ handshake_datagrams }) => handshake_datagrams),
  };
}

export function faultFaults(cell: FaultCell): string[] {
  const name = faultName(cell);
  const found: string[] = [];
  if (cell.requests_failed > 0) found.push(`${name}: ${cell.requests_failed} requests failed`);
  if (cell.bytes_lost > 0) found.push(`${name}: ${cell.bytes_lost} bytes lost`);
  if (cell.longest_stall_ms > cell.bound_ms)
    found.push(
      `${name}: a request stood still for ${cell.longest_stall_ms} ms (seed ${cell.longest_stall_seed}), longer than ${cell.bound_ms}`,
    );
  if (cell.handshake_datagrams > 0)
    found.push(`${name}: ${cell.handshake_datagrams} handshake datagrams reached backends`);
  if (cell.key_update && cell.key_updates < cell.runs) found.push(`${name}: keys were not updated in every run`);
  return found;
}

const spread = ([low, high]: [number, number]): [number, number] => [round(low), round(high)];
