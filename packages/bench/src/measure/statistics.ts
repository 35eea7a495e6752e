/** Median and quartiles of repeated measurements. */
export interface Distribution {
  median: number;
  /** First and third quartile. */
  quartiles: [number, number];
}

export function distribution(values: readonly number[]): Distribution {
  if (values.length === 0) throw new RangeError('a distribution needs at least one value');
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), quartiles: [quantile(sorted, 0.25), quantile(sorted, 0.75)] };
}

/** Linear interpolation between the neighbours. */
function quantile(sorted: readonly number[], fraction: number): number {
  const position = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(position)] ?? 0;
  const above = sorted[Math.ceil(position)] ?? below;
  return below + (above - below) * (position - Math.floor(position));
}

/** To so many significant digits: a measurement has no more. */
export function round(value: number, digits = 4): number {
  return Number(value.toPrecision(digits));
}
