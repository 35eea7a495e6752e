import { createHash } from 'node:crypto';
import { cpus } from 'node:os';
import type { z } from 'zod';
import { ProgressBar } from '../../measure/progress_bar.js';
import { RunStore } from '../../measure/run_store.js';
import { limiter } from '../../process/limiter.js';
import type { RunContext } from './runner.js';

interface PartsContext<Run> extends Pick<RunContext, 'progress' | 'stop'> {
  /** Keeps finished parts. The folder belongs to one set-up of one program, so what is there goes on. */
  file: string;
  schema: z.ZodType<Run>;
}

/**
 * Simulates parts side by side, as many as there are processors, and keeps each as it ends. After `stop` no further part
 * begins. Returns the finished ones in the order in which they were given.
 */
export async function runParts<Run, Part extends { name: string }>(
  parts: readonly Part[],
  { file, schema, progress, stop }: PartsContext<Run>,
  simulate: (part: Part) => Promise<Run[]>,
): Promise<{ part: Part; runs: Run[] }[]> {
  const names = createHash('sha256')
    .update(parts.map(({ name }) => name).join('\n'))
    .digest('hex');
  const store = await RunStore.open(file, { program: names }, { run: schema, resume: true });
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
  return parts.flatMap((part) => {
    const runs = store.cells.get(part.name);
    return runs ? [{ part, runs }] : [];
  });
}
