import { z } from 'zod';

const milliseconds = z.number().min(0);
const count = z.number().int().min(0);
/** Digest of all datagrams with their times, equal for equal runs */
const digest = z.string();

/** A line of `direct_return_bench download`. Times are since the request. */
export const downloadRunSchema = z.object({
  seed: count,
  digest,
  /** Time to the first packet of the response */
  first_ms: milliseconds,
  /** Time to the first packet with bytes of the body */
  first_body_ms: milliseconds,
  /** Time to the end, or for which it lasted */
  ms: milliseconds,
  bytes: count,
  finished: z.boolean(),
  packets: count,
  lost: count,
});
export type DownloadRun = z.output<typeof downloadRunSchema>;

/** A line of `direct_return_bench fairness` */
export const fairnessRunSchema = z.object({
  seed: count,
  digest,
  /** Share of the bytes that the connection with backends got */
  share: z.number().min(0).max(1),
  bytes: count,
  plain_bytes: count,
  packets: count,
  lost: count,
  plain_packets: count,
  plain_lost: count,
  runs: count,
  refused: count,
});
export type FairnessRun = z.output<typeof fairnessRunSchema>;

/** A line of `direct_return_bench faults` */
export const returnFaultRunSchema = z.object({
  seed: count,
  digest,
  requests: count,
  failed: count,
  bytes_wrong: count,
  stall_ms: milliseconds,
  bound_ms: milliseconds,
  lost: count,
  proxied: count,
  key_updates: count,
});
export type ReturnFaultRun = z.output<typeof returnFaultRunSchema>;

/** A line of `direct_return_bench numbers` */
export const numbersRunSchema = z.object({
  seed: count,
  /** Zeros where no datagrams were made */
  digest,
  packets: count,
  /** Packets with data that the client did not read */
  refused: count,
  /** Bytes that arrived a second time */
  repeated_bytes: count,
  acknowledgements: count,
  most_ranges: count,
  /** Whether the client closed the connection because of the numbers */
  closed: z.boolean(),
  finished: z.boolean(),
  /** Time of the download; 0 without contents */
  ms: milliseconds,
});
export type NumbersRun = z.output<typeof numbersRunSchema>;
