import { z } from 'zod';
import type { Experiment, ResultTable } from '../experiment.js';
import { describeMachine, type Machine } from '../measure/machine.js';
import { distribution, round } from '../measure/statistics.js';
import { buildNativeBench } from '../process/cmake.js';
import { runProgram } from '../process/run_program.js';

/** Bound for every scheduler with the greatest number of streams, in nanoseconds */
const REQUIRED_NS = 300;

const optionsSchema = z.strictObject({
  runs: z.coerce.number().int().min(1).default(5),
});

const outputSchema = z.object({
  packets: z.number(),
  paths: z.number(),
  cells: z
    .array(
      z.object({
        scheduler: z.string(),
        tree: z.string(),
        streams: z.number(),
        packet_ns: z.number(),
        p95_ns: z.number(),
      }),
    )
    .min(1),
});

type Output = z.infer<typeof outputSchema>;

export interface SchedulerCell {
  scheduler: string;
  /** Shape of the dependency tree */
  tree: string;
  /** Number of active streams */
  streams: number;
  /**
   * Time of a decision and of the bookkeeping of a packet: median of the runs, each of which is the median of batches
   * of 32 packets
   */
  packet_ns: number;
  /** Quartiles of the runs */
  spread_ns: [number, number];
  /** Time that 95 % of the batches stay below; median of the runs */
  p95_ns: number;
}

export interface SchedulersReport {
  experiment: 'schedulers';
  machine: Machine;
  parameters: { runs: number; packets: number; paths: number };
  cells: SchedulerCell[];
  /** The highest `packet_ns` with the greatest number of streams */
  worst: SchedulerCell;
  required_ns: number;
  met: boolean;
}

export const schedulersBench: Experiment = {
  name: 'schedulers',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, { progress }) {
    const { runs } = optionsSchema.parse(rawOptions);
    const machine = describeMachine();
    const outputs: Output[] = [];
    for (let run = 1; run <= runs; run += 1) {
      progress(`run ${run} of ${runs}`);
      outputs.push(await measureSchedulers(progress));
    }
    const report = summarizeSchedulers(outputs, machine);
    return { report, tables: [table(report)] };
  },
};

/** Measures every scheduler with every tree and number of streams once. @throws UserError when tools are missing */
export async function measureSchedulers(progress: (line: string) => void): Promise<Output> {
  const program = await buildNativeBench('stream_scheduler_bench', progress);
  return outputSchema.parse(JSON.parse(await runProgram(program, [])));
}

/** Summarizes the runs. @throws RangeError without an output */
export function summarizeSchedulers(outputs: readonly Output[], machine: Machine): SchedulersReport {
  const [first] = outputs;
  if (!first) throw new RangeError('there is no output to summarize');
  const cells = first.cells.map(({ scheduler, tree, streams }, index): SchedulerCell => {
    const measured = outputs.map((output) => output.cells[index] ?? { packet_ns: NaN, p95_ns: NaN });
    const packet = distribution(measured.map((cell) => cell.packet_ns));
    const [low, high] = packet.quartiles;
    return {
      scheduler,
      tree,
      streams,
      packet_ns: round(packet.median),
      spread_ns: [round(low), round(high)],
      p95_ns: round(distribution(measured.map((cell) => cell.p95_ns)).median),
    };
  });
  const most = Math.max(...cells.map(({ streams }) => streams));
  const worst = cells
    .filter(({ streams }) => streams === most)
    .reduce((left, right) => (right.packet_ns > left.packet_ns ? right : left));
  return {
    experiment: 'schedulers',
    machine,
    parameters: { runs: outputs.length, packets: first.packets, paths: first.paths },
    cells,
    worst,
    required_ns: REQUIRED_NS,
    met: worst.packet_ns < REQUIRED_NS,
  };
}

function table({ cells, worst, required_ns, met }: SchedulersReport): ResultTable {
  const counts = [...new Set(cells.map(({ streams }) => streams))];
  const lines = [...new Set(cells.map(({ scheduler, tree }) => `${scheduler} ${tree}`))];
  return {
    head: ['scheduler', 'tree', ...counts.map((count) => `${count} streams, ns`)],
    rows: lines.map((line) => {
      const own = cells.filter(({ scheduler, tree }) => `${scheduler} ${tree}` === line);
      return [
        ...line.split(' '),
        ...own.map(({ packet_ns, spread_ns: [low, high] }) => `${packet_ns} (${low} to ${high})`),
      ];
    }),
    notes: [
      `slowest with ${worst.streams} streams: ${worst.scheduler} (${worst.tree}) with ${worst.packet_ns} ns; below ${required_ns} wanted: ${met ? 'met' : 'NOT met'}`,
    ],
  };
}
