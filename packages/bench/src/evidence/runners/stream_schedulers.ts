import { z } from 'zod';
import { measureSchedulers } from '../../schedulers/schedulers_bench.js';
import { finishRounds } from './rounds.js';
import { armsOf, programSources, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({});
const settingsSchema = z.strictObject({ scheduler: z.string() });

/** Measures the processor time of stream schedulers alone, without a connection. All of them run in every round. */
export const streamSchedulers: Runner = {
  name: 'stream-schedulers',
  realTime: true,
  seeded: false,
  sources: [runnerModule('stream_schedulers.ts'), ...programSources, 'packages/native/bench/stream_scheduler_bench.cc'],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const armOf = new Map(armsOf(setup, settingsSchema).map(({ arm, scheduler }) => [scheduler, arm]));
    const measured = await finishRounds(context, {}, async () => {
      const { cells } = await measureSchedulers(context.progress);
      return cells.flatMap(({ scheduler, tree, streams, packet_ns, p95_ns }) => {
        const arm = armOf.get(scheduler);
        return arm === undefined ? [] : [{ arm, at: { tree, streams }, values: { packet_ns, p95_ns } }];
      });
    });
    return { ...measured, skipped: [] };
  },
};
