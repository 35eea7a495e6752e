import { z } from 'zod';
import type { Experiment } from '../experiment.js';
import { runRealEnds } from './real/real_outcome.js';

const optionsSchema = z.strictObject({
  real: z.literal(true, { error: 'give --real (processes on loopback)' }),
  runs: z.coerce.number().int().min(1).default(3),
  clients: z.coerce.number().int().min(1).max(64).default(8),
  requests: z.coerce.number().int().min(1).default(100),
  bytes: z.coerce.number().int().min(1_000).max(3_000_000).default(500_000),
});

/** One connection with several servers: what it is worth. */
export const multiEndBench: Experiment = {
  name: 'multi-end',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, context) {
    const { runs, clients, requests, bytes } = optionsSchema.parse(rawOptions);
    return runRealEnds({ runs, clients, requests, bytes }, context);
  },
};
