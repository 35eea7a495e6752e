import { z } from 'zod';
import { measureHandOver } from '../../multi_end/hand_over/hand_over_cost.js';
import { finishRounds } from './rounds.js';
import { armsOf, programSources, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Connections that a run imports */
  connections: z.number().int().min(1),
});
const settingsSchema = z.strictObject({ keys: z.enum(['per_path', 'shared']) });

/** Measures the time and the memory that a connection costs a backend, alone in one program. */
export const handOver: Runner = {
  name: 'hand-over',
  realTime: true,
  seeded: false,
  sources: [runnerModule('hand_over.ts'), ...programSources, 'packages/native/bench/backend_import_bench.cc'],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const { connections } = optionsSchema.parse(setup.options);
    const arms = armsOf(setup, settingsSchema);
    const measured = await finishRounds(context, {}, async () => {
      const costs = await measureHandOver(connections, context.progress);
      return arms.map(({ arm, keys }) => {
        const { import_us, fresh_bytes, idle_bytes } = costs[keys];
        return { arm, at: {}, values: { import_us, fresh_bytes, idle_bytes } };
      });
    });
    return { ...measured, skipped: [] };
  },
};
