import { join } from 'node:path';
import { z } from 'zod';
import { RunStore } from '../../measure/run_store.js';
import type { ResultCell } from '../results/result.js';
import type { RunContext } from './runner.js';

const sampleSchema = z.object({
  arm: z.string(),
  at: z.record(z.string(), z.union([z.string(), z.number()])),
  /** Values by the names of the quantities */
  values: z.record(z.string(), z.number()),
});
/** What one round measured with an arm at a place */
export type RoundSample = z.output<typeof sampleSchema>;

/**
 * Measures rounds one after the other, each with all arms in turn, so that a disturbance of the machine affects all of
 * them. Keeps finished rounds, and leaves out those that an earlier run finished. Returns the cells of all rounds.
 */
export async function finishRounds(
  { runs, directory, progress, stop }: RunContext,
  measure: (round: number) => Promise<RoundSample[]>,
): Promise<ResultCell[]> {
  const store = await RunStore.open(
    join(directory, 'rounds.jsonl'),
    { program: '' },
    { run: sampleSchema, resume: true },
  );
  for (let round = 1; round <= runs && !stop.aborted; round += 1) {
    const name = String(round);
    if (store.cells.has(name)) continue;
    progress(`round ${round} of ${runs}`);
    await store.add(name, await measure(round));
  }
  return cellsOf(Array.from({ length: runs }, (_, index) => store.cells.get(String(index + 1)) ?? []).flat());
}

function cellsOf(samples: readonly RoundSample[]): ResultCell[] {
  const cells = new Map<string, ResultCell>();
  for (const { arm, at, values } of samples) {
    for (const [quantity, value] of Object.entries(values)) {
      const key = JSON.stringify([arm, at, quantity]);
      const cell = cells.get(key) ?? { arm, at, quantity, values: [] };
      cell.values.push(value);
      cells.set(key, cell);
    }
  }
  return [...cells.values()];
}
