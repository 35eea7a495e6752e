import { z } from 'zod';
import type { ExperimentContext, Outcome } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { distribution, round } from '../../measure/statistics.js';
import { buildNativeBench } from '../../process/cmake.js';
import { runProgram } from '../../process/run_program.js';

/** Maximum cost of a connection at a backend */
const MOST = { import_us: 50, bytes: 16 * 1024 };

export interface HandOverOptions {
  /** Runs of the measuring program */
  runs: number;
  /** Connections that each run imports */
  connections: number;
}

const costSchema = z.object({
  import_us: z.number().positive(),
  fresh_bytes: z.number().positive(),
  idle_bytes: z.number().positive(),
});
const runSchema = z.object({ per_path: costSchema, shared: costSchema });
/** What a connection costs with each kind of keys, as medians over the connections of a run */
export type HandOverRun = z.output<typeof runSchema>;

export interface HandOverCost {
  keys: 'per-path' | 'shared';
  /**
   * Time from the bytes of a snapshot to a connection that can receive, including key derivation, in microseconds:
   * median of the runs' medians
   */
  import_us: number;
  import_quartiles_us: [number, number];
  /** Heap of a connection and its leases before its first packet */
  fresh_bytes: number;
  /** Heap of a connection after it has answered a request */
  idle_bytes: number;
  runs: number;
}

/** Runs `bench multi-end --hand-over`. @throws UserError */
export async function runHandOver(
  { runs, connections }: HandOverOptions,
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const machine = describeMachine();
  const results: HandOverRun[] = [];
  for (let run = 1; run <= runs; run += 1) {
    results.push(await measureHandOver(connections, progress));
    progress(`run ${run} of ${runs}`);
  }
  const costs = [
    summarize(
      'per-path',
      results.map(({ per_path }) => per_path),
    ),
    summarize(
      'shared',
      results.map(({ shared }) => shared),
    ),
  ];
  const missed = costs.flatMap(misses);
  const report = { experiment: 'multi-end', machine, parameters: { runs, connections }, hand_over: costs, most: MOST };
  return {
    report,
    tables: [
      {
        head: ['keys', 'import µs', 'bytes before the first packet', 'bytes after a request', 'runs'],
        rows: costs.map(({ keys, import_us, import_quartiles_us: [low, high], fresh_bytes, idle_bytes }) => [
          keys,
          `${import_us} (${low} to ${high})`,
          String(fresh_bytes),
          String(idle_bytes),
          String(runs),
        ]),
        notes: [`A connection at a backend, with its leases; at most ${MOST.import_us} µs and ${MOST.bytes} bytes.`],
      },
    ],
    ...(missed.length > 0 && { failure: missed.join('; ') }),
  };
}

/** Measures one run of the given number of connections. @throws UserError when tools are missing */
export async function measureHandOver(connections: number, progress: (line: string) => void): Promise<HandOverRun> {
  const program = await buildNativeBench('backend_import_bench', progress);
  return runSchema.parse(JSON.parse(await runProgram(program, [String(connections)])));
}

function summarize(keys: HandOverCost['keys'], costs: readonly z.output<typeof costSchema>[]): HandOverCost {
  const of = (name: keyof (typeof costs)[0]): { median: number; quartiles: [number, number] } =>
    distribution(costs.map((cost) => cost[name]));
  const [low, high] = of('import_us').quartiles;
  return {
    keys,
    import_us: round(of('import_us').median, 3),
    import_quartiles_us: [round(low, 3), round(high, 3)],
    fresh_bytes: of('fresh_bytes').median,
    idle_bytes: of('idle_bytes').median,
    runs: costs.length,
  };
}

function misses({ keys, import_us, fresh_bytes, idle_bytes }: HandOverCost): string[] {
  const held = Math.max(fresh_bytes, idle_bytes);
  return [
    ...(import_us > MOST.import_us
      ? [`keys ${keys}: an import takes ${import_us} µs instead of at most ${MOST.import_us} µs`]
      : []),
    ...(held > MOST.bytes
      ? [`keys ${keys}: an idle connection holds ${held} bytes instead of at most ${MOST.bytes}`]
      : []),
  ];
}
