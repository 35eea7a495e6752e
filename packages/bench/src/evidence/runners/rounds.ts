import { loadavg } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { untilOthersRest } from '../../measure/quiet_machine.js';
import { RunStore } from '../../measure/run_store.js';
import { shuffled } from '../../measure/shuffled.js';
import { median } from '../../measure/statistics.js';
import type { BeforeRounds, ResultCell } from '../results/result.js';
import { againHint, type Measured, type RunContext } from './runner.js';

const sampleSchema = z.object({
  arm: z.string(),
  at: z.record(z.string(), z.union([z.string(), z.number()])),
  /** Values by the names of the quantities */
  values: z.record(z.string(), z.number()),
});
/** What one round measured with an arm at a place */
export type RoundSample = z.output<typeof sampleSchema>;

const roundSchema = z.object({
  /** Load average of the last minute before the round, to which the round before it contributes */
  load: z.number(),
  /** Processors that other programs used just before the round */
  busy: z.number(),
  samples: z.array(sampleSchema),
});
type Round = z.output<typeof roundSchema>;

/** Longest wait for a quiet machine before a round, in milliseconds. Quick runs do not wait. */
const patienceMs = 60_000;

/** Returns arms in the order in which a round measures them. */
export type InTurn = <Arm>(arms: readonly Arm[]) => Arm[];

/**
 * Measures rounds one after the other, each with all arms in turn, so that a disturbance of the machine affects all of
 * them. Each round has an order of its own, drawn by the seed, so that no arm always follows the same one. Keeps finished
 * rounds, and leaves out those that an earlier run of the same versions finished. Returns the cells of all rounds.
 *
 * @throws UserError when the kept rounds are of other versions
 */
export async function finishRounds(
  { runs, seed, quick, directory, progress, stop }: RunContext,
  versions: Measured['versions'],
  measure: (inTurn: InTurn, round: number) => Promise<RoundSample[]>,
): Promise<Omit<Measured, 'skipped'>> {
  const store = await RunStore.open(
    join(directory, 'rounds.jsonl'),
    { versions: JSON.stringify(versions) },
    { run: roundSchema, resume: true, hint: againHint },
  );
  for (let round = 1; round <= runs && !stop.aborted; round += 1) {
    const name = String(round);
    if (store.cells.has(name)) continue;
    const busy = await untilOthersRest({ patienceMs: quick ? 0 : patienceMs, progress, stop });
    if (stop.aborted) break;
    const load = Number((loadavg()[0] ?? 0).toFixed(2));
    progress(`round ${round} of ${runs}`);
    const samples = await measure((arms) => shuffled(arms, seed + round), round);
    await store.add(name, [{ load, busy, samples }]);
  }
  const rounds = Array.from({ length: runs }, (_, index) => store.cells.get(String(index + 1)) ?? []).flat();
  return {
    cells: cellsOf(rounds.flatMap(({ samples }) => samples)),
    versions,
    ...(rounds.length > 0 && { before_rounds: beforeRounds(rounds) }),
  };
}

function beforeRounds(rounds: readonly Round[]): BeforeRounds {
  const spread = (values: number[]): BeforeRounds['busy'] => ({
    median: median(values),
    largest: Math.max(...values),
  });
  return { load: spread(rounds.map(({ load }) => load)), busy: spread(rounds.map(({ busy }) => busy)) };
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
