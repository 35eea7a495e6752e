import { z } from 'zod';
import { measureSchedulers } from '../../schedulers/schedulers_bench.js';
import { finishRounds } from './rounds.js';
import { parseSettings, runnerSources, type Runner } from './runner.js';

const optionsSchema = z.strictObject({});
const settingsSchema = z.strictObject({ scheduler: z.string() });

/** Measures the processor time of stream schedulers alone, without a connection. All of them run in every round. */
export const streamSchedulers: Runner = {
  name: 'stream-schedulers',
  realTime: true,
  seeded: false,
  sources: [
    ...runnerSources('stream_schedulers.ts'),
    'packages/native/src',
    'packages/native/bench/stream_scheduler_bench.cc',
    'packages/bench/src/schedulers',
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const armOf = new Map(
      Object.entries(setup.arms).map(([arm, { settings }]) => [settingsSchema.parse(settings).scheduler, arm]),
    );
    const cells = await finishRounds(context, async () => {
      const { cells: measured } = await measureSchedulers(context.progress);
      return measured.flatMap(({ scheduler, tree, streams, packet_ns, p95_ns }) => {
        const arm = armOf.get(scheduler);
        return arm === undefined ? [] : [{ arm, at: { tree, streams }, values: { packet_ns, p95_ns } }];
      });
    });
    return { cells, versions: {}, skipped: [] };
  },
};
