import { quantile, RESAMPLES } from '../../measure/statistics.js';
import { seededRandom } from '../../pages/content/random.js';
import type { Axes, Quantity, Where } from '../artefact/artefact.js';
import type { ResultCell } from '../results/result.js';

/** A figure computed from runs */
export interface Figure {
  value: number;
  /** 95 % interval, or the range of fewer than five runs; undefined when these runs have none for the statistic */
  interval?: [number, number];
  /** Whether the figure is about these runs alone, as their maximum is, so that chance does not decide about it */
  exact: boolean;
  n: number;
}

/** Number of runs below which the interval spans all runs */
const bootstrapRuns = 5;

/** Numbers of runs below which all of them are likely to stay below a percentile: 0.95 ^ 72 < 2.5 %, as 0.99 ^ 368 */
const percentileRuns: Partial<Record<Quantity['statistic'], number>> = { p95: 72, p99: 368 };

/** Returns whether a statistic is a single run's value, for which an interval of resampled runs says nothing. */
const isExtreme = (statistic: Statistic): boolean => statistic === 'maximum' || statistic === 'minimum';

/** Returns whether an interval of resampled runs says something about the statistic. */
export const hasInterval = (statistic: Statistic, runs: number): boolean =>
  !isExtreme(statistic) && runs >= (percentileRuns[statistic] ?? 0);

export const figureOf = (cell: ResultCell, { statistic }: Quantity): Figure =>
  combine([cell], statistic, ([only]) => only!);

/**
 * Computes the ratio of one cell to another, as the geometric mean of several such pairs, in which a factor of two and
 * a factor of one half cancel each other. Runs with the same seed are resampled together, which cancels what they
 * share.
 */
export const ratioOf = (cells: readonly [of: ResultCell, to: ResultCell][], { statistic }: Quantity): Figure =>
  combine(cells.flat(), statistic, (estimates) => {
    let sum = 0;
    for (let index = 0; index < estimates.length; index += 2)
      sum += logarithmOf(estimates[index] ?? 0, estimates[index + 1] ?? 0);
    return Math.exp((2 * sum) / estimates.length);
  });

/** Returns the logarithm of a ratio. Two figures that are equal have the ratio 1, also when both are 0. */
const logarithmOf = (of: number, to: number): number => (of === to ? 0 : Math.log(of / to));

/** Computes a figure from the estimates of several cells, of which the resamples have the same runs. */
function combine(
  cells: readonly ResultCell[],
  statistic: Statistic,
  figure: (estimates: readonly number[]) => number,
): Figure {
  const runs = Math.min(...cells.map(({ values }) => values.length));
  const estimates = cells.map((cell) => estimatesOf(cell, statistic, runs));
  const value = figure(estimates.map(({ all }) => all));
  const resamples = estimates[0]?.resampled.length ?? 0;
  const exact = isExtreme(statistic) && runs > 1;
  if (resamples === 0) return { value, exact, n: runs };
  const drawn = Float64Array.from({ length: resamples }, (_, draw) =>
    figure(estimates.map(({ resampled }) => resampled[draw] ?? 0)),
  ).sort();
  const interval: [number, number] =
    runs >= bootstrapRuns ? [quantile(drawn, 0.025), quantile(drawn, 0.975)] : [drawn[0]!, drawn.at(-1)!];
  return { value, interval, exact, n: runs };
}

type Statistic = Quantity['statistic'];

/** A statistic of all runs of a cell, and of each resample. Fewer than five runs are taken one by one instead. */
interface Estimates {
  all: number;
  resampled: Float64Array;
}

/** Estimates of cells, which several predicates and tables ask for */
const known = new WeakMap<ResultCell, Map<string, Estimates>>();

function estimatesOf(cell: ResultCell, statistic: Statistic, runs: number): Estimates {
  const own = known.get(cell) ?? new Map<string, Estimates>();
  known.set(cell, own);
  const key = `${statistic} of ${runs}`;
  const found = own.get(key) ?? estimate(cell.values.slice(0, runs), statistic);
  own.set(key, found);
  return found;
}

function estimate(values: readonly number[], statistic: Statistic): Estimates {
  const runs = values.length;
  const all = statistics[statistic](Float64Array.from(values));
  if (runs < 2 || !hasInterval(statistic, runs)) return { all, resampled: new Float64Array() };
  if (runs < bootstrapRuns) return { all, resampled: Float64Array.from(values) };
  const chosen = drawsOf(runs);
  const sample = new Float64Array(runs);
  const resampled = Float64Array.from({ length: RESAMPLES }, (_, draw) => {
    for (let index = 0; index < runs; index += 1) sample[index] = values[chosen[draw * runs + index] ?? 0] ?? 0;
    return statistics[statistic](sample);
  });
  return { all, resampled };
}

const draws = new Map<number, Uint32Array>();

/** Draws the runs of all resamples, one resample after the other, and the same ones for every cell. */
function drawsOf(runs: number): Uint32Array {
  const random = seededRandom('evidence');
  const drawn = draws.get(runs) ?? Uint32Array.from({ length: RESAMPLES * runs }, () => random() % runs);
  draws.set(runs, drawn);
  return drawn;
}

/** Compute a statistic of at least one value, which they may sort. */
const statistics: Record<Statistic, (values: Float64Array) => number> = {
  mean: (values) => values.reduce((sum, value) => sum + value, 0) / values.length,
  median: (values) => quantile(values.sort(), 0.5),
  p95: (values) => quantile(values.sort(), 0.95),
  p99: (values) => quantile(values.sort(), 0.99),
  maximum: (values) => Math.max(...values),
  minimum: (values) => Math.min(...values),
};

export const sameAxes = (left: Axes, right: Axes): boolean =>
  Object.keys(left).length === Object.keys(right).length &&
  Object.entries(left).every(([name, value]) => right[name] === value);

/** Returns whether the axes have the wanted values. */
export const matchesAxes = (at: Axes, where: Where): boolean =>
  Object.entries(where).every(([axis, wanted]) => [wanted].flat().includes(at[axis] ?? ''));

/** Returns the cells of a quantity, which may share the runner's values with others. @throws RangeError */
export function cellsOf(
  quantities: Readonly<Record<string, Quantity>>,
  name: string,
  cells: readonly ResultCell[],
): { quantity: Quantity; cells: ResultCell[] } {
  const quantity = quantities[name];
  if (!quantity) throw new RangeError(`no quantity ${name}`);
  return { quantity, cells: cells.filter((cell) => cell.quantity === (quantity.values ?? name)) };
}

export const axesName = (axes: Axes): string => Object.values(axes).join(', ');
