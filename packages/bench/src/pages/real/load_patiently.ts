import { errorMessage, UserError } from '@sheaf/gateway';
import type { BrowserRun } from './browser_run.js';

/** Attempts of a page load, since browsers on busy machines sometimes fail */
const ATTEMPTS = 3;

/** A page load before its failures are counted */
export type LoadedOnce = Omit<BrowserRun, 'repeats'>;

/**
 * Loads a page, again when the laboratory fails, and counts that: a load that is too slow does not fail, but ends at its
 * limit. @throws UserError with the hint after the last attempt
 */
export async function loadPatiently(
  load: () => Promise<LoadedOnce>,
  { name, hint, progress }: { name: string; hint: string; progress: (line: string) => void },
): Promise<BrowserRun> {
  const repeats: string[] = [];
  for (;;) {
    try {
      return { ...(await load()), repeats };
    } catch (error) {
      repeats.push(errorMessage(error));
      if (repeats.length === ATTEMPTS)
        throw new UserError('BENCH_FAILED', `${name} could not be loaded: ${errorMessage(error)}`, {
          hint,
          cause: error,
        });
      progress(`${name} is loaded again: ${errorMessage(error)}`);
    }
  }
}
