import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchOthers } from './other_programs.js';

/** Processors in use above which a machine is not quiet. A load average counts the same over a minute. */
export const quietLoad = 0.5;

export interface Patience {
  /** Longest wait in milliseconds */
  patienceMs: number;
  progress: (line: string) => void;
  stop: AbortSignal;
}

/** Waits until the load average of the last minute is low. Returns it. */
export const untilLoadIsLow = (patience: Patience): Promise<number> =>
  untilLow({ what: 'load', pauseMs: 10_000, measure: () => Promise.resolve(loadavg()[0] ?? 0) }, patience);

/**
 * Waits until other programs rest. Returns the number of processors that they use. Between rounds a load average is of
 * no use, since it still counts the round before.
 */
export const untilOthersRest = (patience: Patience): Promise<number> =>
  untilLow({ what: 'processors in use', pauseMs: 5_000, measure: () => processorsInUse(patience) }, patience);

interface Measure {
  what: string;
  /** Time between two looks, in milliseconds */
  pauseMs: number;
  measure: () => Promise<number>;
}

async function untilLow(
  { what, pauseMs, measure }: Measure,
  { patienceMs, progress, stop }: Patience,
): Promise<number> {
  const until = performance.now() + patienceMs;
  let value = await measure();
  while (value >= quietLoad && performance.now() < until && !stop.aborted) {
    progress(`waiting for a quiet machine: ${what} ${value.toFixed(2)}, less than ${quietLoad} wanted`);
    await rest(pauseMs, stop);
    value = await measure();
  }
  if (value >= quietLoad && !stop.aborted)
    progress(`the machine is not quiet: ${what} ${value.toFixed(2)}; the result says so`);
  return Number(value.toFixed(2));
}

async function processorsInUse({ patienceMs, stop }: Patience): Promise<number> {
  const others = watchOthers();
  // Who has no time to wait gets a rougher value.
  await rest(patienceMs > 0 ? 500 : 50, stop);
  return others() ?? 0;
}

const rest = (milliseconds: number, stop: AbortSignal): Promise<void> =>
  sleep(milliseconds, undefined, { signal: stop }).catch(() => undefined);
