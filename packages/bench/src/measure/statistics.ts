/** Median and quartiles of repeated measurements */
export interface Distribution {
  median: number;
  /** First and third quartile */
  quartiles: [number, number];
}

export function distribution(values: readonly number[]): Distribution {
  if (values.length === 0) throw new RangeError('a distribution needs at least one value');
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), quartiles: [quantile(sorted, 0.25), quantile(sorted, 0.75)] };
}

/** Returns a quantile of at least one value in ascending order, with linear interpolation between neighbors. */
export function quantile(sorted: ArrayLike<number>, fraction: number): number {
  const position = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(position)] ?? 0;
  const above = sorted[Math.ceil(position)] ?? below;
  // Neighbors that are equal may be infinite, as ratios to 0 are.
  return above === below ? below : below + (above - below) * (position - Math.floor(position));
}

/** Rounds to this many significant digits; measurements have no more. */
export function round(value: number, digits = 4): number {
  return Number(value.toPrecision(digits));
}

export interface Summary {
  mean: number;
  median: number;
  p95: number;
  /** Interval of the mean by Student's distribution; null with one value */
  ci95: [number, number] | null;
}

export function summary(values: readonly number[]): Summary {
  if (values.length === 0) throw new RangeError('a summary needs at least one value');
  const sorted = [...values].sort((a, b) => a - b);
  return {
    mean: mean(values),
    median: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    ci95: confidenceInterval(values),
  };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function confidenceInterval(values: readonly number[]): [number, number] | null {
  if (values.length < 2) return null;
  const middle = mean(values);
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
  const half = studentQuantile975(values.length - 1) * Math.sqrt(variance / values.length);
  return [middle - half, middle + half];
}

const SMALL_SAMPLES = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/**
 * Returns the 97.5 % quantile of Student's distribution. From 11 degrees of freedom on, uses its expansion around the
 * normal distribution (error below 0.001).
 */
function studentQuantile975(degrees: number): number {
  const z = 1.959964;
  const expansion =
    z +
    (z ** 3 + z) / (4 * degrees) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * degrees ** 3);
  return SMALL_SAMPLES[degrees - 1] ?? expansion;
}

/** Computes Jain's fairness index: 1 when all shares are equal, and 1/n when one has everything. */
export function fairnessIndex(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares === 0 ? 1 : (sum * sum) / (shares.length * squares);
}

export function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}

/** Number of resamples of a bootstrap */
export const RESAMPLES = 2000;

/**
 * Returns the 95 % interval of `estimate` over this many observations, by the bootstrap (percentiles of resamples).
 * `random` returns numbers below 2^32.
 */
export function bootstrapInterval(
  count: number,
  estimate: (chosen: readonly number[]) => number,
  random: () => number,
): [number, number] {
  if (count === 0) throw new RangeError('an interval needs at least one value');
  const estimates = Array.from({ length: RESAMPLES }, () =>
    estimate(Array.from({ length: count }, () => random() % count)),
  ).sort((a, b) => a - b);
  return [quantile(estimates, 0.025), quantile(estimates, 0.975)];
}
