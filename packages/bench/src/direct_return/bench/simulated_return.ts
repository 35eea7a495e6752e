import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRerunnable, type Rerunnable } from '../../evidence/artefact/artefact.js';
import { readCatalogue } from '../../evidence/artefact/catalogue.js';
import { runnerNamed } from '../../evidence/runners/index.js';
import { evaluate, inOrder, type Truth } from '../../evidence/verdict/predicate.js';
import { figureOf } from '../../evidence/verdict/figure.js';
import type { ResultCell } from '../../evidence/results/result.js';
import type { ResultTable } from '../../experiment.js';
import { round } from '../../measure/statistics.js';

/** Simulated experiments, and the artefacts that define them */
const ARTEFACTS = {
  'first-packet': 'direct-server-return/figure-12',
  loss: 'direct-server-return/figure-13',
  numbers: 'direct-server-return/appendix-a',
  fairness: 'own/return-fairness',
  faults: 'own/return-faults',
} as const;
export type SimulatedCase = keyof typeof ARTEFACTS;
export const SIMULATED_CASES = Object.keys(ARTEFACTS) as SimulatedCase[];

/** One figure at one place */
interface SimulatedCell {
  case: SimulatedCase;
  arm: string;
  at: ResultCell['at'];
  quantity: string;
  unit: string;
  /** The quantity's statistic of all runs */
  value: number;
  interval?: [number, number];
}

interface SimulatedFinding {
  case: SimulatedCase;
  claim: string;
  truth: Truth;
  /** The figure that is worth most to know: one that fails, if any does */
  why: string;
}

export interface SimulatedReturn {
  /** Seeds of each cell, from the first one on: a run replays with its seed */
  seeds: number[];
  cells: SimulatedCell[];
  findings: SimulatedFinding[];
}

interface Options {
  cases: readonly SimulatedCase[];
  runs: number;
  /** Seed of the first run; each further run has the next one */
  seed: number;
  stop: AbortSignal;
}

/** Simulates direct return as its artefacts say, in virtual time. The same seed gives the same figures. @throws UserError */
export async function simulateReturn(
  { cases, runs, seed, stop }: Options,
  progress: (line: string) => void,
): Promise<SimulatedReturn> {
  const catalogue = await readCatalogue();
  const report: SimulatedReturn = {
    seeds: Array.from({ length: runs }, (_, run) => seed + run),
    cells: [],
    findings: [],
  };
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-return-'));
  try {
    for (const name of cases) {
      const artefact = catalogue.find(({ id }) => id === ARTEFACTS[name]);
      if (!artefact || !isRerunnable(artefact)) throw new RangeError(`${ARTEFACTS[name]} does not rerun`);
      const measured = await runnerNamed(artefact.setup.runner).run(artefact.setup, {
        runs,
        seed,
        quick: false,
        directory: join(directory, name),
        progress: (line) => progress(`${name}: ${line}`),
        stop,
      });
      if (stop.aborted) break;
      report.cells.push(...cellsOf(name, artefact, measured.cells));
      report.findings.push(...findingsOf(name, artefact, measured.cells));
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return report;
}

const cellsOf = (name: SimulatedCase, { quantities }: Rerunnable, cells: readonly ResultCell[]): SimulatedCell[] =>
  Object.entries(quantities).flatMap(([key, quantity]) =>
    cells
      .filter((cell) => cell.quantity === (quantity.values ?? key))
      .map((cell): SimulatedCell => {
        const { value, interval } = figureOf(cell, quantity);
        return {
          case: name,
          arm: cell.arm,
          at: cell.at,
          quantity: key,
          unit: quantity.unit,
          value: round(value, 5),
          ...(interval && { interval: [round(interval[0], 5), round(interval[1], 5)] }),
        };
      }),
  );

const findingsOf = (
  name: SimulatedCase,
  { claims, quantities }: Rerunnable,
  cells: readonly ResultCell[],
): SimulatedFinding[] =>
  claims.flatMap(({ text: claim, predicates }) =>
    predicates.map((predicate): SimulatedFinding => {
      const { truth, measured } = evaluate(predicate, quantities, cells);
      return { case: name, claim, truth, why: inOrder(measured)[0]?.text ?? 'not measured' };
    }),
  );

/** Renders tables for people: each quantity over all places of an arm, then the findings. */
export function simulatedReturnTables({ seeds, cells, findings }: SimulatedReturn): ResultTable[] {
  const groups = new Map<string, SimulatedCell[]>();
  for (const cell of cells) {
    const key = `${cell.case} ${cell.quantity} ${cell.arm}`;
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  const first = seeds[0] ?? 0;
  return [
    {
      head: ['case', 'quantity', 'arm', 'places', 'least', 'greatest', 'unit'],
      rows: [...groups.values()].map((group) => {
        const values = group.map(({ value }) => value);
        const [cell] = group;
        return [
          cell?.case ?? '',
          cell?.quantity ?? '',
          cell?.arm ?? '',
          String(values.length),
          String(Math.min(...values)),
          String(Math.max(...values)),
          cell?.unit ?? '',
        ];
      }),
      notes: [
        `Each figure is of the seeds ${first} to ${first + seeds.length - 1}, with which every run replays. --json has each place.`,
      ],
    },
    {
      head: ['case', 'finding', 'truth', 'why'],
      rows: findings.map((finding) => [finding.case, finding.claim, finding.truth, finding.why]),
      notes: [],
    },
  ];
}
