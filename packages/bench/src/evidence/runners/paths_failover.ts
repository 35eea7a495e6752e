import { z } from 'zod';
import { simulateFailover } from '../../paths/simulated_paths.js';
import { buildNativeBench } from '../../process/cmake.js';
import { cellsAt } from './cells.js';
import { programSources, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({});
const settingsSchema = z.strictObject({ scheduler: z.literal('ecf'), controller: z.literal('cubic') });

/** Simulates two paths of which one goes dark and comes back, in virtual time. */
export const pathsFailover: Runner = {
  name: 'paths-failover',
  realTime: false,
  seeded: true,
  sources: [runnerModule('paths_failover.ts'), ...programSources, 'packages/native/bench/paths_bench.cc'],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const program = await buildNativeBench('paths_bench', context.progress);
    const { stall_ms, bound_ms, bytes_after_return } = await simulateFailover(program, context);
    const runs = stall_ms.map((stall, run) => ({
      stall,
      bound: bound_ms[run] ?? NaN,
      megabytes: (bytes_after_return[run] ?? 0) / 1e6,
    }));
    const cells = cellsAt({ arm: setup.baseline, at: {} }, runs, {
      stall_ms: ({ stall }) => stall,
      of_bound: ({ stall, bound }) => stall / bound,
      after_return_mb: ({ megabytes }) => megabytes,
    });
    return { cells, versions: {}, skipped: [] };
  },
};
