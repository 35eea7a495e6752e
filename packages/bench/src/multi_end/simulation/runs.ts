import { z } from 'zod';

const milliseconds = z.number().min(0);
const count = z.number().int().min(0);
/** Digest of all datagrams with their times, equal for equal runs */
const digest = z.string();

/** A line of `multi_end_bench transfers`. Times are since the requests, in the order of the requests. */
export const transferRunSchema = z.object({
  seed: count,
  digest,
  first_ms: z.array(milliseconds).min(1),
  done_ms: z.array(milliseconds).min(1),
});
export type TransferRun = z.output<typeof transferRunSchema>;

/** A line of `multi_end_bench faults` */
export const faultRunSchema = z.object({
  seed: count,
  digest,
  finished: z.boolean(),
  requests: count,
  failed: count,
  bytes_lost: count,
  repeated: count,
  resumed: count,
  key_updates: count,
  handshake_datagrams: count,
  stall_ms: milliseconds,
  bound_ms: milliseconds,
});
export type FaultRun = z.output<typeof faultRunSchema>;
