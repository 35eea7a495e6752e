import { bootstrapInterval, mean, median, summary } from '../../measure/statistics.js';
import { seededRandom } from '../../pages/content/random.js';
import type { Axes, Quantity } from '../artefact/artefact.js';
import type { ResultCell } from '../results/result.js';

/** A figure computed from runs */
export interface Figure {
  value: number;
  /** 95 % interval, or the range of fewer than five runs; undefined when a single run shows no spread */
  interval?: [number, number];
  n: number;
}

/** Number of runs below which the interval spans all runs */
const bootstrapRuns = 5;

const statistics: Record<Quantity['statistic'], (values: readonly number[]) => number> = {
  mean,
  median,
  p95: (values) => summary(values).p95,
};

export const figureOf = (cell: ResultCell, { statistic }: Quantity): Figure =>
  estimate(cell.values.length, (chosen) => statistics[statistic](chosen.map((run) => cell.values[run] ?? 0)));

/**
 * Computes the ratio of one cell to another. Runs with the same seed are resampled together, which cancels what they
 * share.
 */
export function ratioOf(cells: readonly [of: ResultCell, to: ResultCell][], { statistic }: Quantity): Figure {
  const runs = Math.min(...cells.flat().map(({ values }) => values.length));
  const over = (values: readonly number[], chosen: readonly number[]): number =>
    statistics[statistic](chosen.map((run) => values[run] ?? 0));
  return estimate(runs, (chosen) =>
    // Uses the geometric mean, in which a factor of two and a factor of one half cancel each other.
    Math.exp(mean(cells.map(([of, to]) => Math.log(over(of.values, chosen) / over(to.values, chosen))))),
  );
}

function estimate(runs: number, value: (chosen: readonly number[]) => number): Figure {
  const all = Array.from({ length: runs }, (_, run) => run);
  const figure: Figure = { value: value(all), n: runs };
  if (runs < 2) return figure;
  if (runs >= bootstrapRuns) return { ...figure, interval: bootstrapInterval(runs, value, seededRandom('evidence')) };
  const single = all.map((run) => value([run]));
  return { ...figure, interval: [Math.min(...single), Math.max(...single)] };
}

export const sameAxes = (left: Axes, right: Axes): boolean =>
  Object.keys(left).length === Object.keys(right).length &&
  Object.entries(left).every(([name, value]) => right[name] === value);

export const axesName = (axes: Axes): string => Object.values(axes).join(', ');
