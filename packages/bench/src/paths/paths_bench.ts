import { z } from 'zod';
import type { Experiment } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { measureRealPaths, realPathsTable } from './real_paths.js';
import { measureSimulatedPaths, simulatedPathsTables } from './simulated_paths.js';

const optionsSchema = z
  .strictObject({
    sim: z.literal(true).optional(),
    real: z.literal(true).optional(),
    runs: z.coerce.number().int().min(1).optional(),
    seconds: z.coerce.number().int().min(1).default(10),
    seed: z.coerce.number().int().min(0).default(1),
    bytes: z.coerce.number().int().min(1_000_000).default(200_000_000),
  })
  .refine(({ sim, real }) => sim !== real, {
    path: ['sim'],
    error: 'give --sim (virtual time) or --real (loopback), one of them',
  });

/** Measures the benefit of several paths (RFC 10069). */
export const pathsBench: Experiment = {
  name: 'paths',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, { progress }) {
    const { sim, runs, seconds, seed, bytes } = optionsSchema.parse(rawOptions);
    const machine = describeMachine();
    if (sim) {
      const parameters = { runs: runs ?? 20, seconds, seed };
      const measured = await measureSimulatedPaths(parameters, progress);
      const { missed } = measured;
      return {
        report: { experiment: 'paths', machine, parameters, ...measured },
        tables: simulatedPathsTables(measured),
        ...(missed.length > 0 && { failure: `${missed.length} of the requirements are missed: ${missed.join('; ')}` }),
      };
    }
    const parameters = { runs: runs ?? 5, bytes };
    const cells = await measureRealPaths(parameters, progress);
    return { report: { experiment: 'paths', machine, parameters, cells }, tables: [realPathsTable(cells)] };
  },
};
