type Value = object | number | string | boolean | null | undefined;

const isRecord = (value: unknown): value is Record<string, Value> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Adds what several threads counted: numbers of the same name, also within records. Anything else is as the first one says, since
 * it is the same for all.
 */
export function sumOf<Counts extends object>(all: readonly [Counts, ...Counts[]]): Counts {
  const [first, ...others] = all as unknown as [Record<string, Value>, ...Record<string, Value>[]];
  const sum: Record<string, Value> = { ...first };
  for (const other of others)
    for (const [key, value] of Object.entries(other)) {
      const before = sum[key];
      if (before === undefined) sum[key] = value;
      else if (typeof value === 'number' && typeof before === 'number') sum[key] = before + value;
      else if (isRecord(value) && isRecord(before)) sum[key] = sumOf([before, value]);
    }
  return sum as Counts;
}

/** Returns the mean of the values that there are; undefined when there is none. */
export function meanOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
}
