import { cpus } from 'node:os';
import { limiter } from '../process/limiter.js';
import { ProgressBar } from './progress_bar.js';
import type { RunStore } from './run_store.js';

/**
 * Simulates the parts that the store does not have, as many at a time as there are processors, and stores each one when
 * it ends. After `stop` no further part begins, and unfinished ones are dropped.
 */
export async function runParts<Run, Part extends { name: string }>(
  store: RunStore<Run>,
  parts: readonly Part[],
  { progress, stop }: { progress: (line: string) => void; stop: AbortSignal },
  simulate: (part: Part) => Promise<Run[]>,
): Promise<void> {
  const missing = parts.filter(({ name }) => !store.cells.has(name));
  const bar = new ProgressBar(missing.length, 'cells', progress);
  const inTurn = limiter(cpus().length);
  await Promise.all(
    missing.map((part) =>
      inTurn(async () => {
        if (stop.aborted) return;
        const runs = await simulate(part).catch((error: unknown) => {
          // The same signal reached the program.
          if (stop.aborted) return undefined;
          throw error;
        });
        if (!runs) return;
        await store.add(part.name, runs);
        bar.step(part.name);
      }),
    ),
  );
}
