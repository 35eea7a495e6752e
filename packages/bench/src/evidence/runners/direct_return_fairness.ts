import { join } from 'node:path';
import { z } from 'zod';
import { fairnessRunSchema, type FairnessRun } from '../../direct_return/simulation/runs.js';
import { describeReturnSetting } from '../../direct_return/simulation/setting.js';
import { buildNativeBench } from '../../process/cmake.js';
import { parseJsonLines } from '../../process/json_lines.js';
import { runProgram } from '../../process/run_program.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

const milliseconds = z.number().min(0);

/** What a full queue does: drops what comes last, or is kept short by CoDel, which marks packets or drops them */
const queues = {
  'drop-tail': { queue: 'drop-tail', ecn: 1 },
  'codel marks': { queue: 'codel', ecn: 1 },
  'codel drops': { queue: 'codel', ecn: 0 },
} as const;
const queueNames = Object.keys(queues) as (keyof typeof queues)[];

const optionsSchema = z.strictObject({
  mbps: z.number().positive(),
  delay_ms: milliseconds,
  jitter_ms: milliseconds,
  queue_bytes: z.number().int().positive(),
  queues: z.array(z.enum(queueNames)).min(1),
  /** One-way delay between gateway and backends */
  order_ms: milliseconds,
  /** Difference of the ways of the nearest and the farthest backend */
  spread_ms: milliseconds,
  /** The servers of each connection are farther by up to this, as the seed decides */
  places_ms: milliseconds,
  warm_up_s: z.number().min(0),
  seconds: z.number().positive(),
});

const settingsSchema = z.strictObject({
  /** Backends that serve the connection; 0: a plain connection */
  backends: z.number().int().min(0).max(8),
});

const quantities: Readonly<Record<string, (run: FairnessRun) => number>> = {
  share: ({ share }) => share,
  lost_share: ({ packets, lost }) => lost / packets,
  plain_lost_share: ({ plain_packets, plain_lost }) => plain_lost / plain_packets,
  refused: ({ refused }) => refused,
};

/** Simulates two endless downloads over one access link, one of them from backends, in virtual time. */
export const directReturnFairness: Runner = {
  name: 'direct-return-fairness',
  realTime: false,
  seeded: true,
  sources: [runnerModule('direct_return_fairness.ts'), ...settingProgramSources('direct_return_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('direct_return_bench', context.progress);
    const parts = armsOf(setup, settingsSchema).flatMap(({ arm, backends }) =>
      options.queues.map((queue) => ({ name: `${arm}/${queue}`, arm, backends, at: { queue } })),
    );
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'fairness.jsonl'), schema: fairnessRunSchema, ...context },
      async ({ backends, at }) => {
        const words = ['fairness', String(context.seed), String(context.runs)];
        const input = describe(options, backends, at.queue);
        return parseJsonLines(await runProgram(program, words, { input }), fairnessRunSchema);
      },
    );
    return {
      cells: finished.flatMap(({ part: { arm, at }, runs }) => cellsAt({ arm, at }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};

function describe(options: z.output<typeof optionsSchema>, backends: number, name: keyof typeof queues): string {
  const { mbps, delay_ms, jitter_ms, queue_bytes, order_ms, spread_ms } = options;
  const { queue, ecn } = queues[name];
  return describeReturnSetting(
    {
      access: { mbps, delay_ms, jitter_ms, queue_bytes, queue },
      gateway_ms: order_ms,
      backends: Array.from({ length: backends }, (_, index) => ({
        order_ms,
        way_ms: order_ms + (backends === 1 ? spread_ms : (spread_ms * index) / (backends - 1)),
      })),
    },
    [`ecn ${ecn}`, `seconds ${options.warm_up_s} ${options.seconds}`, `places ${options.places_ms}`],
  );
}
