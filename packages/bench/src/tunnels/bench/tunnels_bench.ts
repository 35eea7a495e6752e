import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { isRerunnable, type Artefact, type Rerunnable } from '../../evidence/artefact/artefact.js';
import { chooseArtefacts, readCatalogue } from '../../evidence/artefact/catalogue.js';
import type { ResultCell } from '../../evidence/results/result.js';
import { runnerNamed } from '../../evidence/runners/index.js';
import { axesName, cellsOf, figureOf } from '../../evidence/verdict/figure.js';
import type { Experiment, ExperimentContext, Outcome, ResultTable } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { round } from '../../measure/statistics.js';
import { numberList } from '../../number_list.js';
import { REAL_CASES, runRealTunnels } from '../real/real_tunnels.js';

/** Artefacts of the paper need no folder in front of their names */
const idOf = (name: string): string => (name.includes('/') ? name : `tunnels/${name}`);

const simulatedSchema = z.strictObject({
  sim: z.literal(true, { error: 'give --sim (virtual time) or --real (processes on loopback)' }),
  real: z.undefined({ error: 'not with --sim' }).optional(),
  cells: z.string().default('figure-2,figure-10,figure-15'),
  runs: z.coerce.number().int().min(1).optional(),
  seed: z.coerce.number().int().min(0).default(1),
});

const realSchema = z.strictObject({
  real: z.literal(true),
  cases: z
    .string()
    .default(REAL_CASES.join())
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(REAL_CASES, { error: `none of ${REAL_CASES.join(', ')}` })).min(1)),
  runs: z.coerce.number().int().min(1).default(5),
  bytes: z.coerce.number().int().min(100_000).max(10_000_000_000).default(1_000_000_000),
  clients: numberList('1,50', z.number().int().min(1).max(200)),
  quota: numberList('0.15,1', z.number().min(0.01).max(1)),
  datagrams: z.coerce.number().int().min(1).default(1_000_000),
  tunnels: z.coerce.number().int().min(100).max(50_000).default(10_000),
  check: z.boolean().default(false),
});

interface Measured {
  artefact: Rerunnable & Artefact;
  runs: number;
  cells: ResultCell[];
}

/** Simulates tunnels, in the set-ups of a paper's artefacts, or downloads through real ones. */
export const tunnelsBench: Experiment = {
  name: 'tunnels',
  options: [...new Set([simulatedSchema, realSchema].flatMap(({ shape }) => Object.keys(shape)))],
  async run(rawOptions, context) {
    if (rawOptions['real'] === true && rawOptions['sim'] !== true) {
      const { real: _, quota: quotas, ...options } = realSchema.parse(rawOptions);
      return runRealTunnels({ ...options, quotas }, context);
    }
    return runSimulated(simulatedSchema.parse(rawOptions), context);
  },
};

/** Simulates the set-ups of the paper's artefacts with other seeds, or with fewer runs. */
async function runSimulated(
  { cells: wanted, runs, seed }: z.output<typeof simulatedSchema>,
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const ids = wanted.split(',').map(idOf);
  const measured: Measured[] = [];
  for (const artefact of chooseArtefacts(await readCatalogue(), ids)) {
    measured.push(await measure(artefact, { runs, seed }, progress));
  }
  const parameters = { cells: wanted, ...(runs !== undefined && { runs }), seed };
  const machine = describeMachine();
  const report = { experiment: 'tunnels', machine, parameters, artefacts: measured.map(reportOf) };
  return { report, tables: measured.map(tableOf) };
}

async function measure(
  artefact: Artefact,
  { runs, seed }: { runs: number | undefined; seed: number },
  progress: (line: string) => void,
): Promise<Measured> {
  if (!isRerunnable(artefact)) throw new UserError('USAGE', `${artefact.id} cannot be simulated`);
  const count = runs ?? artefact.setup.runs.quick;
  progress(`${artefact.id}: ${count} runs, seeds ${seed} to ${seed + count - 1}`);
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-tunnels-'));
  try {
    const { cells } = await runnerNamed(artefact.setup.runner).run(artefact.setup, {
      runs: count,
      seed,
      quick: true,
      directory,
      progress,
      stop: new AbortController().signal,
    });
    return { artefact, runs: count, cells };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const reportOf = ({ artefact, runs, cells }: Measured): object => ({ artefact: artefact.id, runs, cells });

function tableOf({ artefact, runs, cells }: Measured): ResultTable {
  const shown = artefact.tables[0]?.quantities ?? Object.keys(artefact.quantities);
  const figures = shown.map((name) => cellsOf(artefact.quantities, name, cells));
  const rows = (figures[0]?.cells ?? []).map((first, row) => [
    artefact.setup.arms[first.arm]?.label ?? first.arm,
    axesName(first.at),
    ...figures.map(({ quantity, cells: own }) => {
      const cell = own[row];
      return cell ? String(round(figureOf(cell, quantity).value)) : '';
    }),
  ]);
  const names = shown.map((name) => {
    const { name: text, unit } = artefact.quantities[name] ?? { name, unit: '' };
    return `${text} (${unit})`;
  });
  return { head: ['arm', 'at', ...names], rows, notes: [`${artefact.id}, ${runs} runs`] };
}
