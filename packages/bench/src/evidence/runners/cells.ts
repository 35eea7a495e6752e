import type { ResultCell } from '../results/result.js';

/** Returns one cell for each quantity at a place, with one value for each run. */
export function cellsAt<Run>(
  { arm, at }: Pick<ResultCell, 'arm' | 'at'>,
  runs: readonly Run[],
  quantities: Readonly<Record<string, (run: Run) => number>>,
): ResultCell[] {
  return Object.entries(quantities).map(([quantity, value]) => ({
    arm,
    at: { ...at },
    quantity,
    values: runs.map(value),
  }));
}
