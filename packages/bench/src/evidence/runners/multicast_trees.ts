import { join } from 'node:path';
import { z } from 'zod';
import {
  buildTrees,
  shareWithin,
  simulateTrees,
  treeRunSchema,
  unicastShare,
  type TreeRun,
  type TreeSetting,
} from '../../multicast/simulated_trees.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

const milliseconds = z.number().positive();
const share = z.number().min(0).max(1);

const cutSchema = z.strictObject({
  part: z.union([z.number().int().min(0), z.literal('root')]),
  at_ms: z.number().min(0),
  for_ms: milliseconds,
});

const optionsSchema = z.strictObject({
  receivers: z.array(z.number().int().min(1)).min(1),
  branches: z.number().int().min(1),
  /** So many receivers lose packets, of the group and of unicast. */
  lossy_receivers: z.number().int().min(1),
  /** Rates of the video */
  rates_mbps: z.array(z.number().positive()).min(1),
  frame_ms: milliseconds,
  seconds: z.number().positive(),
  report_ms: milliseconds,
  /** After which a packet is worth nothing */
  deadlines_ms: z.array(milliseconds).min(1),
  /** Frames that are complete later than this are late. */
  buffers_ms: z.array(milliseconds).min(1),
  /** Shares of the packets that are lost */
  losses: z.array(share).min(1),
  /** For copies by unicast to all receivers together */
  budget_mbps: z.number().positive(),
  /** Rate of the source's link, which copies pass as well; 0: no limit */
  uplink_mbps: z.number().min(0).default(0),
  /** Rate of the channel, for video, proofs and repairs together, in rates of the video */
  rate_factor: z.number().min(1).default(1.5),
  /** Parts of the tree that carry nothing for a time, in arms with `cut` */
  cuts: z.array(cutSchema).default([]),
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({
  delivery: z.enum(['multicast', 'unicast']),
  repairs: z.boolean(),
  signed: z.boolean(),
  /** Where packets are lost: at each receiver, or on one branch of the tree, behind which all lose the same */
  lossy: z.enum(['receivers', 'branch']),
  /** Whether the cuts of the options happen */
  cut: z.boolean().default(false),
});
type ArmSettings = z.output<typeof settingsSchema>;

interface Place {
  receivers: number;
  mbps: number;
  loss: number;
  deadline_ms: number;
}

/** Quantities that do not depend on the buffer */
const quantitiesOf = (
  { frame_ms, seconds }: Options,
  { receivers, mbps }: Place,
): Readonly<Record<string, (run: TreeRun) => number>> => ({
  unicast_share: unicastShare,
  source_mb: ({ group_bytes, copied_bytes }) => (group_bytes + copied_bytes) / 1e6,
  repair_mb: ({ repair_bytes, copied_bytes }) => (repair_bytes + copied_bytes) / 1e6,
  loss_reports: ({ loss_reports }) => loss_reports,
  expired: ({ expired }) => expired,
  goodput_mbps: ({ completed }) => (completed * mbps * frame_ms) / 1000 / seconds / receivers,
  lateness_mean_ms: ({ lateness_mean_ms }) => lateness_mean_ms,
  lateness_p50_ms: ({ lateness_p50_ms }) => lateness_p50_ms,
  lateness_p95_ms: ({ lateness_p95_ms }) => lateness_p95_ms,
  lateness_p99_ms: ({ lateness_p99_ms }) => lateness_p99_ms,
  lateness_max_ms: ({ lateness_max_ms }) => lateness_max_ms,
});

const placesOf = ({ receivers, rates_mbps, losses, deadlines_ms }: Options): Place[] =>
  receivers.flatMap((count) =>
    rates_mbps.flatMap((mbps) =>
      losses.flatMap((loss) => deadlines_ms.map((deadline_ms) => ({ receivers: count, mbps, loss, deadline_ms }))),
    ),
  );

const settingAt = (
  { receivers: _, rates_mbps: __, losses: ___, deadlines_ms: ____, cuts, ...options }: Options,
  { delivery, repairs, signed, lossy, cut }: ArmSettings,
  { loss, ...place }: Place,
): TreeSetting => ({
  ...options,
  ...place,
  repairs,
  signed,
  unicast: delivery === 'unicast',
  first_branch_only: lossy === 'branch',
  loss: {
    root: 0,
    branch: lossy === 'branch' ? loss : 0,
    leaf: lossy === 'receivers' ? loss : 0,
    unicast: loss,
  },
  cuts: cut ? cuts : [],
});

/** Simulates a channel on a tree of depth two, or copies by unicast to the same receivers, in virtual time. */
export const multicastTrees: Runner = {
  name: 'multicast-trees',
  realTime: false,
  seeded: true,
  sources: [
    runnerModule('multicast_trees.ts'),
    ...settingProgramSources('multicast_tree_bench'),
    'packages/native/bench/multicast',
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const parts = armsOf(setup, settingsSchema).flatMap((settings) =>
      placesOf(options).map((place) => ({
        name: [settings.arm, place.receivers, place.mbps, place.loss, place.deadline_ms].join('/'),
        arm: settings.arm,
        place,
        setting: settingAt(options, settings, place),
      })),
    );
    const program = await buildTrees(context.progress);
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'trees.jsonl'), schema: treeRunSchema, ...context },
      async ({ setting }) => simulateTrees(program, setting, context),
    );
    return {
      cells: finished.flatMap(({ part: { arm, place }, runs }) => {
        const { loss, ...others } = place;
        const at = { ...others, loss_percent: loss * 100 };
        return [
          ...cellsAt({ arm, at }, runs, quantitiesOf(options, place)),
          ...options.buffers_ms.flatMap((buffer_ms, index) =>
            cellsAt({ arm, at: { ...at, buffer_ms } }, runs, {
              on_time_share: (run: TreeRun) => shareWithin(run, index),
            }),
          ),
        ];
      }),
      versions: {},
      skipped: [],
    };
  },
};
