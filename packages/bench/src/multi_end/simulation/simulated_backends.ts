import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { progressBar } from '../../measure/progress_bar.js';
import { RunStore } from '../../measure/run_store.js';
import { buildNativeBench } from '../../process/cmake.js';
import { parseJsonLines } from '../../process/json_lines.js';
import { limiter } from '../../process/limiter.js';
import { runProgram } from '../../process/run_program.js';
import { faultCell, faultFaults, transferCell, transferFaults, type FaultCell, type TransferCell } from './cells.js';
import {
  DELIVERIES,
  faultExperiments,
  faultName,
  transferExperiments,
  type Delivery,
  type TransferExperiment,
} from './experiments.js';
import { faultRunSchema, transferRunSchema, type FaultRun, type TransferRun } from './runs.js';
import { describeSetting } from './setting.js';

export interface SimulatedOptions {
  /** Runs of a transfer in each delivery */
  runs: number;
  /** Runs of a fault */
  faultRuns: number;
  /** Seed of the first run; each further run has the next seed */
  seed: number;
  /** Directory that keeps runs as they finish */
  directory: string;
  resume: boolean;
  /** Stops before the next part. Unfinished parts are dropped, and finished ones are kept. */
  stop: AbortSignal;
}

export interface SimulatedReport {
  cells: TransferCell[];
  faults: FaultCell[];
  /** Experiments that were not done because the bench was stopped */
  missing: number;
  /** Missed requirements; empty when all are met */
  missed: string[];
}

/** A call of a program, and the destination of its runs */
interface Job {
  name: string;
  arguments: string[];
  input?: string;
  keep(output: string): Promise<void>;
}

/**
 * Compares backends with proxying, and measures the outcome of requests during faults, in virtual time. The same seed
 * gives the same results. @throws UserError
 */
export async function measureSimulatedBackends(
  options: SimulatedOptions,
  progress: (line: string) => void,
): Promise<SimulatedReport> {
  const program = await buildNativeBench('multi_end_bench', progress);
  const digest = createHash('sha256')
    .update(await readFile(program))
    .digest('hex');
  const open = <Run>(file: string, runs: number, run: z.ZodType<Run>): Promise<RunStore<Run>> =>
    RunStore.open(
      join(options.directory, file),
      { runs, seed: options.seed, program: digest },
      { run, resume: options.resume },
    );
  const transferStore = await open('transfers.jsonl', options.runs, transferRunSchema);
  const faultStore = await open('faults.jsonl', options.faultRuns, faultRunSchema);
  const experiments = await transferExperiments();

  const jobs = [...transferJobs(experiments, transferStore, options), ...faultJobs(faultStore, options)];
  await runJobs(program, jobs, options.stop, progress);

  const pairs = experiments.flatMap((experiment) => {
    const [direct, proxied] = DELIVERIES.map((delivery) => transferStore.cells.get(transferName(experiment, delivery)));
    return direct && proxied ? [{ experiment, cell: transferCell(experiment, { direct, proxied }) }] : [];
  });
  const faults = faultExperiments.flatMap((experiment) => {
    const runs = faultStore.cells.get(faultName(experiment));
    return runs ? [faultCell(experiment, runs)] : [];
  });
  return {
    cells: pairs.map(({ cell }) => cell),
    faults,
    missing: experiments.length + faultExperiments.length - pairs.length - faults.length,
    missed: [
      ...pairs.flatMap(({ experiment, cell }) => transferFaults(experiment, cell)),
      ...faults.flatMap(faultFaults),
    ],
  };
}

const transferName = ({ name }: TransferExperiment, delivery: Delivery): string => `${name}/${delivery}`;

function transferJobs(
  experiments: readonly TransferExperiment[],
  store: RunStore<TransferRun>,
  { seed, runs }: SimulatedOptions,
): Job[] {
  return experiments.flatMap((experiment) =>
    DELIVERIES.map((delivery): Job => {
      const name = transferName(experiment, delivery);
      return {
        name,
        arguments: ['transfers', delivery, 'warm', String(seed), String(runs)],
        input: describeSetting(experiment.topology, experiment.transfers),
        keep: (output) => store.add(name, parseJsonLines(output, transferRunSchema)),
      };
    }).filter(({ name }) => !store.cells.has(name)),
  );
}

function faultJobs(store: RunStore<FaultRun>, { seed, faultRuns }: SimulatedOptions): Job[] {
  return faultExperiments
    .map((experiment): Job => {
      const name = faultName(experiment);
      return {
        name,
        arguments: [
          'faults',
          experiment.fault,
          experiment.keys,
          experiment.key_update ? '1' : '0',
          String(seed),
          String(faultRuns),
        ],
        keep: (output) => store.add(name, parseJsonLines(output, faultRunSchema)),
      };
    })
    .filter(({ name }) => !store.cells.has(name));
}

async function runJobs(
  program: string,
  jobs: readonly Job[],
  stop: AbortSignal,
  progress: (line: string) => void,
): Promise<void> {
  const started = performance.now();
  const inTurn = limiter(cpus().length);
  let done = 0;
  await Promise.all(
    jobs.map((job) =>
      inTurn(async () => {
        if (stop.aborted) return;
        const output = await runProgram(program, job.arguments, { input: job.input ?? '' }).catch((error: unknown) => {
          // The same signal reached the program.
          if (stop.aborted) return undefined;
          throw error;
        });
        if (output === undefined) return;
        await job.keep(output);
        done += 1;
        progress(`${progressBar(done, jobs.length, (performance.now() - started) / 1000)} (${job.name})`);
      }),
    ),
  );
}
