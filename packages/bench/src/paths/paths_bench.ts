import { z } from 'zod';
import type { Experiment } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { measureRealPaths, realPathsTable } from './real_paths.js';

const optionsSchema = z.strictObject({
  real: z.literal(true, { error: 'give it: the paths are those of this machine\'s loopback' }),
  runs: z.coerce.number().int().min(1).default(5),
  bytes: z.coerce.number().int().min(1_000_000).default(200_000_000),
});

/** What several paths are worth (RFC 10069). */
export const pathsBench: Experiment = {
  name: 'paths',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, { progress }) {
    const options = optionsSchema.parse(rawOptions);
    const machine = describeMachine();
    const cells = await measureRealPaths(options, progress);
    return { report: { experiment: 'paths', machine, parameters: options, cells }, tables: [realPathsTable(cells)] };
  },
};
