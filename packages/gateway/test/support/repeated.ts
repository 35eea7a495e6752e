import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../src/errors/user_error.js';

/** What became of requests that were sent again and again */
export interface Tally {
  asked: number;
  /** Responses that are none of those that were allowed, and errors, at most the first hundred */
  failed: string[];
}

const mostKept = 100;

/** Asks again and again until `stop`, which resolves with what came of it. */
export function keepAsking(
  name: string,
  ask: () => Promise<string>,
  { allowed, pauseMs }: { allowed: readonly string[]; pauseMs: number },
): { stop(): Promise<Tally> } {
  const tally: Tally = { asked: 0, failed: [] };
  let stopped = false;
  const run = (async () => {
    while (!stopped) {
      const answer = await ask().catch(errorMessage);
      tally.asked += 1;
      if (!allowed.includes(answer) && tally.failed.length < mostKept) tally.failed.push(`${name}: ${answer}`);
      await sleep(pauseMs);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await run;
      return tally;
    },
  };
}
