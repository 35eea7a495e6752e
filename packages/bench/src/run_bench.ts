import type { Writable } from 'node:stream';
import { closest, exitCodes, UserError } from '@sheaf/gateway';
import { ZodError } from 'zod';
import { directReturnBench } from './direct_return/bench/direct_return_bench.js';
import { engineBench } from './engine/engine_bench.js';
import type { Experiment, ResultTable } from './experiment.js';
import { fleetBench } from './fleet/fleet_bench.js';
import { greedyBench } from './greedy/greedy_bench.js';
import { httpBench } from './http/http_bench.js';
import { machineLine, type Machine } from './measure/machine.js';
import { multiEndBench } from './multi_end/multi_end_bench.js';
import { multicastBench } from './multicast/multicast_bench.js';
import { pagesBench } from './pages/pages_bench.js';
import { pathsBench } from './paths/paths_bench.js';
import { write } from './process/write.js';
import { schedulersBench } from './schedulers/schedulers_bench.js';
import { soakBench } from './soak/soak_bench.js';
import { tunnelsBench } from './tunnels/bench/tunnels_bench.js';
import { uploadBench } from './upload/upload_bench.js';
import { workersBench } from './workers/workers_bench.js';

const experiments: readonly Experiment[] = [
  directReturnBench,
  engineBench,
  fleetBench,
  greedyBench,
  httpBench,
  multiEndBench,
  multicastBench,
  pagesBench,
  pathsBench,
  schedulersBench,
  soakBench,
  tunnelsBench,
  uploadBench,
  workersBench,
];

export const benchNames: readonly string[] = experiments.map(({ name }) => name);

/** Names of the options of each experiment, beside `json` */
export const benchOptions: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  experiments.map(({ name, options }) => [name, options]),
);

/**
 * Runs an experiment and prints its tables to standard output, or with `json` only JSON. Progress goes to standard
 * error. Returns the exit code. @throws UserError
 */
export async function runBench(
  name: string,
  { json, ...options }: Record<string, unknown>,
  world: { stdout: Writable; stderr: Writable },
): Promise<number> {
  const experiment = experiments.find((candidate) => candidate.name === name);
  if (!experiment) {
    const near = closest(name, benchNames);
    throw new UserError('BENCH_UNKNOWN', `there is no experiment '${name}'`, {
      hint: `${near ? `did you mean '${near}'? ` : ''}there are: ${benchNames.join(', ')}`,
    });
  }
  const progress = (line: string): void => void world.stderr.write(`bench ${name}: ${line}\n`);
  const { report, tables, failure } = await experiment.run(options, { progress }).catch((error: unknown) => {
    throw error instanceof ZodError ? optionError(error, experiment) : error;
  });
  const text =
    json === true
      ? `${JSON.stringify(report, null, 2)}\n`
      : [machineLine(report.machine as Machine), ...tables.map(renderTable)].join('\n\n').concat('\n');
  await write(world.stdout, text);
  if (failure !== undefined) throw new UserError('BENCH_FAILED', failure);
  return exitCodes.success;
}

/** Options of earlier versions, and their current names */
const renamedOptions = [{ was: 'ends', now: 'backends' }];

function optionError(error: ZodError, { name, options }: Experiment): UserError {
  const known = `\`bench ${name}\` takes ${[...options, 'json'].map((option) => `--${option}`).join(', ')}`;
  const issue = error.issues[0];
  if (issue?.code === 'unrecognized_keys') {
    const unknown = issue.keys[0] ?? '';
    const now = renamedOptions.find(({ was }) => was === unknown)?.now;
    if (now !== undefined && options.includes(now))
      return new UserError('USAGE', `unknown option --${unknown} of \`bench ${name}\``, {
        hint: `it is called --${now} now`,
      });
    if (options.includes(unknown))
      return new UserError('USAGE', `--${unknown} of \`bench ${name}\` does not go with the other options`, {
        hint: `leave it out; \`sheaf bench ${name} --help\` says what each is for`,
      });
    const near = closest(unknown, options);
    return new UserError('USAGE', `unknown option --${unknown} of \`bench ${name}\``, {
      hint: near ? `did you mean --${near}?` : known,
    });
  }
  return new UserError('USAGE', `--${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`, {
    hint: known,
  });
}

function renderTable({ head, rows, notes }: ResultTable): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line), ...notes].join('\n');
}
