import { cpus } from 'node:os';
import { z } from 'zod';
import type { ResultTable } from '../experiment.js';
import { progressBar } from '../measure/progress_bar.js';
import { distribution, round } from '../measure/statistics.js';
import { buildNativeBench } from '../process/cmake.js';
import { limiter } from '../process/limiter.js';
import { runProgram } from '../process/run_program.js';

export const SCHEDULERS = ['ecf', 'min-rtt', 'round-robin', 'weighted', 'blest', 'redundant', 'backup-only'] as const;
export const CONTROLLERS = ['cubic', 'newreno', 'bbr', 'olia'] as const;
export type Scheduler = (typeof SCHEDULERS)[number];
export type Controller = (typeof CONTROLLERS)[number];

const FAILOVER_RUNS = 100;
/** Required ratios to the sum of the single paths, and to the best of them */
const REQUIRED = { sum: 0.95, sumUnderLoss: 0.85, best: 0.97 };

/** One path, whose buffer holds one bandwidth-delay product */
export interface LinkSpecification {
  mbps: number;
  /** Round-trip time */
  rtt_ms: number;
  /** Loss in each direction */
  loss_percent: number;
}

export interface SimulatedOptions {
  runs: number;
  /** Simulated seconds of a run */
  seconds: number;
  seed: number;
}

export interface SimulatedCell {
  links: LinkSpecification[];
  scheduler: Scheduler;
  controller: Controller;
  /** Loss in percent, the largest of the links */
  loss: number;
  /** Median */
  goodput_mbps: number;
  /** Quartiles */
  spread_mbps: [number, number];
  /** Goodput of the same controller on each of the links alone */
  sum_single_mbps: number;
  best_single_mbps: number;
}

export interface Failover {
  scheduler: Scheduler;
  controller: Controller;
  runs: number;
  median_stall_ms: number;
  worst_stall_ms: number;
  /** Smallest bound of all runs: 2 probe timeouts of the lost path and a round trip of the other */
  bound_ms: number;
  /** Runs whose stall stayed within the bound of that run */
  within_bound: number;
  /** Runs in which the path carried data again after its return */
  used_again: number;
}

export interface SimulatedReport {
  cells: SimulatedCell[];
  failover: Failover;
  /** Cells that miss their requirement; empty when all meet it */
  missed: string[];
}

const link = (mbps: number, rtt_ms: number, loss_percent = 0): LinkSpecification => ({ mbps, rtt_ms, loss_percent });

/** Returns the links of all cells: equal and unequal, with and without loss. */
export function linkSets(): LinkSpecification[][] {
  const ratios = [2, 4, 10];
  return [
    ...[1, 2, 3, 4].map((count) => Array.from({ length: count }, () => link(20, 40))),
    ...ratios.map((ratio) => [link(20, 20), link(20, 20 * ratio)]),
    ...ratios.map((ratio) => [link(20, 40), link(20 / ratio, 40)]),
    [link(20, 20), link(5, 80)],
    [link(20, 20), link(20, 50), link(10, 100)],
    [link(20, 20), link(20, 50), link(10, 100), link(5, 200)],
    ...[1, 2, 3].flatMap((loss) => [
      [link(20, 40, loss), link(20, 40, loss)],
      [link(20, 20, loss), link(20, 80, loss)],
    ]),
    [link(20, 40, 1), link(5, 40, 1)],
    [link(20, 20, 1), link(20, 200, 1)],
  ];
}

/**
 * Measures goodput over several paths and fail-over, in virtual time. The same seed gives the same results. @throws
 * UserError
 */
export async function measureSimulatedPaths(
  options: SimulatedOptions,
  progress: (line: string) => void,
): Promise<SimulatedReport> {
  const program = await buildNativeBench('paths_bench', progress);
  const singles = new Map<string, Promise<number[]>>();
  const inTurn = limiter(cpus().length);
  const goodputs = (scheduler: Scheduler, controller: Controller, links: readonly LinkSpecification[]) =>
    inTurn(() => simulateGoodput(program, { scheduler, controller, links }, options));
  const single = async (controller: Controller, one: LinkSpecification): Promise<number> => {
    const key = JSON.stringify([controller, one]);
    const known = singles.get(key) ?? goodputs('ecf', controller, [one]);
    singles.set(key, known);
    return distribution(await known).median;
  };

  const wanted = linkSets().flatMap((links) =>
    CONTROLLERS.flatMap((controller) => SCHEDULERS.map((scheduler) => ({ links, scheduler, controller }))),
  );
  const started = performance.now();
  const shown = Math.ceil(wanted.length / 20);
  let done = 0;
  const cells = await Promise.all(
    wanted.map(async ({ links, scheduler, controller }): Promise<SimulatedCell> => {
      // Starts these first. Otherwise they would wait behind all cells, and no cell would finish before the end.
      const alone = await Promise.all(links.map((one) => single(controller, one)));
      const { median, quartiles } = distribution(await goodputs(scheduler, controller, links));
      done += 1;
      if (done % shown === 0)
        progress(`cells ${progressBar(done, wanted.length, (performance.now() - started) / 1000)}`);
      return {
        links,
        scheduler,
        controller,
        loss: Math.max(...links.map(({ loss_percent }) => loss_percent)),
        goodput_mbps: round(median),
        spread_mbps: [round(quartiles[0]), round(quartiles[1])],
        sum_single_mbps: round(alone.reduce((sum, value) => sum + value, 0)),
        best_single_mbps: round(Math.max(...alone)),
      };
    }),
  );
  progress('fail-over');
  const failover = await measureFailover(program, options.seed);
  return { cells, failover, missed: [...cells.flatMap(faults), ...failoverFaults(failover)] };
}

/** Simulates downloads over these links. Returns the goodput of each run in Mbit/s. @throws UserError */
export async function simulateGoodput(
  program: string,
  {
    scheduler,
    controller,
    links,
  }: { scheduler: Scheduler; controller: Controller; links: readonly LinkSpecification[] },
  { seed, runs, seconds }: SimulatedOptions,
): Promise<number[]> {
  const specifications = links.map(({ mbps, rtt_ms, loss_percent }) => `${mbps}:${rtt_ms}:${loss_percent}`);
  const numbers = [seed, runs, seconds].map(String);
  const output = await runProgram(program, ['goodput', scheduler, controller, ...numbers, ...specifications]);
  return z.object({ goodput_mbps: z.array(z.number()) }).parse(JSON.parse(output)).goodput_mbps;
}

/** What happened in runs in which one of two paths goes dark and comes back; each list has a value for each run */
export interface FailoverRuns {
  stall_ms: number[];
  bound_ms: number[];
  bytes_after_return: number[];
}

/** Simulates fail-over with ECF and CUBIC. @throws UserError */
export async function simulateFailover(
  program: string,
  { seed, runs }: { seed: number; runs: number },
): Promise<FailoverRuns> {
  const values = z.array(z.number());
  const output = await runProgram(program, ['failover', 'ecf', 'cubic', String(seed), String(runs)]);
  return z.object({ stall_ms: values, bound_ms: values, bytes_after_return: values }).parse(JSON.parse(output));
}

async function measureFailover(program: string, seed: number): Promise<Failover> {
  const { stall_ms, bound_ms, bytes_after_return } = await simulateFailover(program, { seed, runs: FAILOVER_RUNS });
  return {
    scheduler: 'ecf',
    controller: 'cubic',
    runs: stall_ms.length,
    median_stall_ms: round(distribution(stall_ms).median),
    worst_stall_ms: round(Math.max(...stall_ms)),
    bound_ms: round(Math.min(...bound_ms)),
    within_bound: stall_ms.filter((stall, run) => stall <= (bound_ms[run] ?? 0)).length,
    used_again: bytes_after_return.filter((bytes) => bytes > 1_000_000).length,
  };
}

/** Returns the parts of REQUIRED that the cell misses. */
export function faults(cell: SimulatedCell): string[] {
  const { links, scheduler, controller, loss, goodput_mbps, sum_single_mbps, best_single_mbps } = cell;
  const name = `${links.map(linkText).join(' + ')}, ${scheduler}, ${controller}`;
  const found: string[] = [];
  const waits = scheduler === 'ecf' || scheduler === 'blest';
  if (waits && goodput_mbps < REQUIRED.best * best_single_mbps)
    found.push(`${name}: ${goodput_mbps} Mbit/s, less than the best single path (${best_single_mbps})`);
  const rtts = links.map(({ rtt_ms }) => rtt_ms);
  // Redundant and backup-only do not add up the rates of paths.
  const aggregates = scheduler !== 'redundant' && scheduler !== 'backup-only';
  if (links.length !== 2 || Math.max(...rtts) > 4 * Math.min(...rtts) || !aggregates) return found;
  const required = loss === 0 ? REQUIRED.sum : loss === 1 && controller === 'bbr' ? REQUIRED.sumUnderLoss : 0;
  if (goodput_mbps < required * sum_single_mbps)
    found.push(`${name}: ${goodput_mbps} Mbit/s, less than ${required} of the sum ${sum_single_mbps}`);
  return found;
}

function failoverFaults({ runs, within_bound, used_again }: Failover): string[] {
  return [
    ...(within_bound < runs ? [`fail-over: ${runs - within_bound} of ${runs} stalls are longer than their bound`] : []),
    ...(used_again < runs ? [`fail-over: in ${runs - used_again} of ${runs} runs the path was not used again`] : []),
  ];
}

/** Describes a link, for example `20 Mbit/s 40 ms 1 %`. */
export const linkText = ({ mbps, rtt_ms, loss_percent }: LinkSpecification): string =>
  `${round(mbps)} Mbit/s ${rtt_ms} ms${loss_percent > 0 ? ` ${loss_percent} %` : ''}`;

export function simulatedPathsTables({ cells, failover, missed }: SimulatedReport): ResultTable[] {
  return [
    {
      head: ['links', 'scheduler', 'controller', 'Mbit/s', 'sum of singles', 'best single', 'of the sum'],
      rows: cells.map(
        ({ links, scheduler, controller, goodput_mbps, spread_mbps, sum_single_mbps, best_single_mbps }) => [
          links.map(linkText).join(' + '),
          scheduler,
          controller,
          `${goodput_mbps} (${spread_mbps.join(' to ')})`,
          String(sum_single_mbps),
          String(best_single_mbps),
          `${Math.round((100 * goodput_mbps) / sum_single_mbps)} %`,
        ],
      ),
      notes: missed,
    },
    {
      head: ['fail-over', 'median stall ms', 'worst stall ms', 'bound ms', 'within', 'used again'],
      rows: [
        [
          `${failover.scheduler}, ${failover.controller}`,
          String(failover.median_stall_ms),
          String(failover.worst_stall_ms),
          String(failover.bound_ms),
          `${failover.within_bound} of ${failover.runs}`,
          `${failover.used_again} of ${failover.runs}`,
        ],
      ],
      notes: [],
    },
  ];
}
