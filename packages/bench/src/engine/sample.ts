import { z } from 'zod';

const count = z.number().nonnegative();

/** Cost of one transfer, which every engine program prints. Durations are in nanoseconds. */
const sampleSchema = z.object({
  generation_ns: count,
  processing_ns: count,
  server_ack_ns: count,
  client_ack_ns: count,
  stream_write_ns: count,
  bytes: count,
  packets: count,
  acks: count,
});

export const engineOutputSchema = z.object({
  library: z.string(),
  version: z.string().optional(),
  samples: z.array(sampleSchema),
});

export type Sample = z.infer<typeof sampleSchema>;
