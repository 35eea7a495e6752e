import { z } from 'zod';
import type { ResultTable } from '../experiment.js';
import { median, round } from '../measure/statistics.js';
import { buildNativeBench } from '../process/cmake.js';
import { parseJsonLines } from '../process/json_lines.js';
import { runProgram } from '../process/run_program.js';

/** A part of the tree that carries nothing for a time */
export interface Cut {
  /** Index of the branch, or the root */
  part: number | 'root';
  at_ms: number;
  for_ms: number;
}

export interface TreeSetting {
  receivers: number;
  branches: number;
  /** So many have the losses of leaves and of unicast. */
  lossy_receivers: number;
  mbps: number;
  frame_ms: number;
  /** Seconds that count */
  seconds: number;
  loss: { root: number; branch: number; leaf: number; unicast: number };
  report_ms: number;
  deadline_ms: number;
  repairs: boolean;
  signed: boolean;
  /** Copies by unicast alone, without a tree */
  unicast: boolean;
  /** Whether one branch alone has the loss of branches */
  first_branch_only: boolean;
  /** Frames that are complete later are late, for each of these times. */
  buffers_ms: readonly number[];
  /** Rate of copies by unicast to all receivers together */
  budget_mbps: number;
  /** Rate of the source's link; 0: no limit */
  uplink_mbps: number;
  /** Rate of the channel, for video, proofs and repairs together, in rates of the video */
  rate_factor: number;
  cuts: readonly Cut[];
}

/** A line of `multicast_tree_bench` */
export const treeRunSchema = z.object({
  seed: z.number(),
  /** Digest of all datagrams with their times, equal for equal runs */
  digest: z.string(),
  frames: z.number(),
  due: z.number(),
  /** For each buffer */
  on_time: z.array(z.number()),
  /** Frames that receivers completed in the time that counts */
  completed: z.number(),
  /** How much later frames were complete than the earliest of the same receiver */
  lateness_mean_ms: z.number(),
  lateness_p50_ms: z.number(),
  lateness_p95_ms: z.number(),
  lateness_p99_ms: z.number(),
  lateness_max_ms: z.number(),
  lost: z.number(),
  loss_reports: z.number(),
  from_group: z.number(),
  from_unicast: z.number(),
  recovered: z.number(),
  expired: z.number(),
  group_bytes: z.number(),
  copied_bytes: z.number(),
  repairs: z.number(),
  repair_bytes: z.number(),
  /** Packets that the cryptographic library opened, and openings that other receivers share with it */
  opened: z.number(),
  shared: z.number(),
  peak_unicast_mbps: z.number(),
  recovery_ms: z.number(),
  wall_s: z.number(),
});
export type TreeRun = z.output<typeof treeRunSchema>;

/** Describes the setting in the format that `multicast_tree_bench` reads. */
export const describeTree = ({ loss, cuts, ...setting }: TreeSetting): string =>
  [
    `receivers ${setting.receivers} ${setting.branches}`,
    `video ${setting.mbps} ${setting.frame_ms} ${setting.seconds}`,
    `loss ${loss.root} ${loss.branch} ${loss.leaf} ${loss.unicast}`,
    `channel ${setting.report_ms} ${setting.deadline_ms} ${Number(setting.repairs)} ${Number(setting.signed)}`,
    `lossy_receivers ${setting.lossy_receivers}`,
    `unicast ${Number(setting.unicast)}`,
    `first_branch_only ${Number(setting.first_branch_only)}`,
    `buffers ${setting.buffers_ms.join(' ')}`,
    `budget ${setting.budget_mbps}`,
    `uplink ${setting.uplink_mbps}`,
    `rate_factor ${setting.rate_factor}`,
    ...cuts.map(({ part, at_ms, for_ms }) => `cut ${part} ${at_ms} ${for_ms}`),
    '',
  ].join('\n');

/** Builds the program of the trees. Returns its path. @throws UserError when tools are missing */
export const buildTrees = (progress: (line: string) => void): Promise<string> =>
  buildNativeBench('multicast_tree_bench', progress);

/** Runs a setting with several seeds, in virtual time. @throws UserError */
export async function simulateTrees(
  program: string,
  setting: TreeSetting,
  { runs, seed }: { runs: number; seed: number },
): Promise<TreeRun[]> {
  const output = await runProgram(program, [String(seed), String(runs)], { input: describeTree(setting) });
  return parseJsonLines(output, treeRunSchema);
}

const plain: TreeSetting = {
  receivers: 20,
  branches: 20,
  lossy_receivers: 1000,
  mbps: 5,
  frame_ms: 33,
  seconds: 10,
  loss: { root: 0, branch: 0, leaf: 0, unicast: 0 },
  report_ms: 10,
  deadline_ms: 350,
  repairs: true,
  signed: false,
  unicast: false,
  first_branch_only: false,
  buffers_ms: [100],
  budget_mbps: 200,
  uplink_mbps: 0,
  rate_factor: 1.5,
  cuts: [],
};

/** Flexicast's robustness: every 5 s one more link of the tree fails with a probability of one half, for 15 s. */
const failures = (receivers: number, seed: number, seconds: number): Cut[] => {
  // A hash of seed and time, so that a run replays
  const drawn = (step: number): number => {
    const mixed = Math.imul((seed * 1000 + step) ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
    return (Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 0) / 2 ** 32;
  };
  return Array.from({ length: Math.floor(seconds / 5) }, (_, step) => step)
    .filter((step) => drawn(2 * step) < 0.5)
    .map((step) => ({ part: Math.floor(drawn(2 * step + 1) * receivers), at_ms: step * 5000, for_ms: 15_000 }));
};

export const TREE_CASES = ['reports', 'failures', 'all-at-once', 'minute'] as const;
export type TreeCase = (typeof TREE_CASES)[number];

/** The settings of a case, one for each seed */
export function settingOf(name: TreeCase, seed: number): TreeSetting {
  switch (name) {
    case 'reports':
      return {
        ...plain,
        receivers: 1000,
        branches: 10,
        mbps: 1,
        seconds: 5,
        report_ms: 100,
        loss: { ...plain.loss, root: 0.03 },
      };
    case 'failures':
      return { ...plain, seconds: 130, cuts: failures(plain.receivers, seed, 130) };
    case 'all-at-once':
      return {
        ...plain,
        receivers: 1000,
        branches: 10,
        mbps: 1,
        seconds: 8,
        report_ms: 100,
        cuts: [{ part: 'root', at_ms: 1000, for_ms: 3000 }],
      };
    case 'minute':
      return { ...plain, receivers: 1000, branches: 10, mbps: 10, seconds: 60, report_ms: 100, repairs: true };
  }
}

export interface TreeCell extends TreeRun {
  case: TreeCase;
}

export interface TreeFinding {
  case: TreeCase;
  claim: string;
  required: string;
  measured: number;
  holds: boolean;
}

/** Runs cases with one seed after the other. */
export async function runTreeCases(
  { cases, runs, seed }: { cases: readonly TreeCase[]; runs: number; seed: number },
  progress: (line: string) => void,
): Promise<TreeCell[]> {
  const program = await buildTrees(progress);
  const cells: TreeCell[] = [];
  for (const name of cases) {
    // The minute shows how fast the simulator is. One run takes long enough.
    for (let run = 0; run < (name === 'minute' ? 1 : runs); run += 1) {
      progress(`${name}: seed ${seed + run}`);
      const made = await simulateTrees(program, settingOf(name, seed + run), { runs: 1, seed: seed + run });
      cells.push(...made.map((each) => ({ case: name, ...each })));
    }
  }
  return cells;
}

/** Reports that named a lost packet, for each packet that one receiver lost; 0 when nothing was lost */
export const reportsPerLoss = ({ loss_reports, lost }: TreeRun, receivers: number): number =>
  lost === 0 ? 0 : loss_reports / (lost / receivers);
/** Share of the frames that were complete within a buffer, by its index in the setting */
export const shareWithin = ({ on_time, due }: TreeRun, buffer: number): number => (on_time[buffer] ?? 0) / due;
export const onTimeShare = (run: TreeRun): number => shareWithin(run, 0);
export const unicastShare = ({ from_unicast, from_group, recovered }: TreeRun): number =>
  from_unicast / (from_unicast + from_group + recovered);

/** Says which marks hold. */
export function judgeTrees(cells: readonly TreeCell[]): TreeFinding[] {
  const finding = (
    name: TreeCase,
    claim: string,
    value: (run: TreeCell) => number,
    bound: { at_least: number } | { at_most: number },
  ): TreeFinding[] => {
    const values = cells.filter((cell) => cell.case === name).map(value);
    if (values.length === 0) return [];
    const least = 'at_least' in bound;
    const measured = least ? Math.min(...values) : Math.max(...values);
    const limit = least ? bound.at_least : bound.at_most;
    return [
      {
        case: name,
        claim,
        required: `${least ? 'at least' : 'at most'} ${limit}`,
        measured: round(measured, 5),
        holds: least ? measured >= limit : measured <= limit,
      },
    ];
  };
  const allAtOnce = settingOf('all-at-once', 0);
  return [
    ...finding('reports', 'reports of each loss of 1,000', (run) => reportsPerLoss(run, 1000), { at_most: 25 }),
    ...finding('reports', 'share of frames on time', onTimeShare, { at_least: 0.994 }),
    ...finding('failures', 'share of frames on time', onTimeShare, { at_least: 0.994 }),
    ...finding('all-at-once', 'most unicast in 100 ms, Mbit/s', ({ peak_unicast_mbps }) => peak_unicast_mbps, {
      // A burst of 32 packets may leave in one such time.
      at_most: round(allAtOnce.budget_mbps + (32 * 1350 * 8) / 1e5),
    }),
    ...finding('minute', 'seconds for a minute', ({ wall_s }) => wall_s, { at_most: 60 }),
  ];
}

/** Renders tables for people. */
export function treeTables(cells: readonly TreeCell[], findings: readonly TreeFinding[]): ResultTable[] {
  const rows = TREE_CASES.flatMap((name) => {
    const runs = cells.filter((cell) => cell.case === name);
    if (runs.length === 0) return [];
    const { receivers } = settingOf(name, 0);
    const middle = (value: (run: TreeCell) => number): string => String(round(median(runs.map(value)), 5));
    return [
      [
        name,
        String(receivers),
        `${runs[0]?.seed ?? 0} to ${runs.at(-1)?.seed ?? 0}`,
        middle((run) => reportsPerLoss(run, receivers)),
        middle(unicastShare),
        middle(onTimeShare),
        middle(({ peak_unicast_mbps }) => peak_unicast_mbps),
        middle(({ recovery_ms }) => recovery_ms),
        middle(({ wall_s }) => wall_s),
      ],
    ];
  });
  return [
    {
      head: [
        'case',
        'receivers',
        'seeds',
        'reports per loss',
        'unicast share',
        'frames on time',
        'peak unicast Mbit/s',
        'recovery ms',
        'real s',
      ],
      rows,
      notes: [
        'Medians of the seeds, with which every run replays. Recovery counts from the first cut to the last frame that was late for somebody.',
        'Receivers share what opening the same bytes under the same key gives. All else each of them does by itself.',
      ],
    },
    {
      head: ['case', 'mark', 'required', 'measured', 'holds'],
      rows: findings.map((each) => [
        each.case,
        each.claim,
        each.required,
        String(each.measured),
        each.holds ? 'yes' : 'NO',
      ]),
      notes: [],
    },
  ];
}
