import { join } from 'node:path';
import { z } from 'zod';
import {
  buildTrees,
  onTimeShare,
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

const optionsSchema = z.strictObject({
  receivers: z.number().int().min(1),
  branches: z.number().int().min(1),
  /** So many receivers lose packets, of the group and of unicast. */
  lossy_receivers: z.number().int().min(1),
  mbps: z.number().positive(),
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
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({
  delivery: z.enum(['multicast', 'unicast']),
  repairs: z.boolean(),
  signed: z.boolean(),
  /** Where packets are lost: at each receiver, or on one branch of the tree, behind which all lose the same */
  lossy: z.enum(['receivers', 'branch']),
});
type ArmSettings = z.output<typeof settingsSchema>;

const quantities: Readonly<Record<string, (run: TreeRun) => number>> = {
  on_time_share: onTimeShare,
  unicast_share: unicastShare,
  source_mb: ({ group_bytes, copied_bytes }) => (group_bytes + copied_bytes) / 1e6,
  repair_mb: ({ repair_bytes, copied_bytes }) => (repair_bytes + copied_bytes) / 1e6,
  loss_reports: ({ loss_reports }) => loss_reports,
  expired: ({ expired }) => expired,
};

interface Place {
  loss: number;
  deadline_ms: number;
  buffer_ms: number;
}

const settingAt = (
  { deadlines_ms: _, buffers_ms: __, losses: ___, ...options }: Options,
  { delivery, repairs, signed, lossy }: ArmSettings,
  { loss, deadline_ms, buffer_ms }: Place,
): TreeSetting => ({
  ...options,
  deadline_ms,
  buffer_ms,
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
  cuts: [],
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
      options.losses.flatMap((loss) =>
        options.deadlines_ms.flatMap((deadline_ms) =>
          options.buffers_ms.map((buffer_ms) => ({
            name: [settings.arm, loss, deadline_ms, buffer_ms].join('/'),
            at: { loss_percent: loss * 100, deadline_ms, buffer_ms },
            arm: settings.arm,
            setting: settingAt(options, settings, { loss, deadline_ms, buffer_ms }),
          })),
        ),
      ),
    );
    const program = await buildTrees(context.progress);
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'trees.jsonl'), schema: treeRunSchema, ...context },
      async ({ setting }) => simulateTrees(program, setting, context),
    );
    return {
      cells: finished.flatMap(({ part: { arm, at }, runs }) => cellsAt({ arm, at }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};
