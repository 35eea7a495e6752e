import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { runParts } from '../../measure/run_parts.js';
import { RunStore } from '../../measure/run_store.js';
import { againHint, type RunContext } from './runner.js';

interface PartsContext<Run> extends Pick<RunContext, 'progress' | 'stop'> {
  /** File that keeps finished parts. Its folder belongs to one set-up of one program, so these parts can be reused. */
  file: string;
  schema: z.ZodType<Run>;
}

/** Simulates the parts that an earlier run did not finish. Returns the finished parts in the given order. */
export async function finishParts<Run, Part extends { name: string }>(
  parts: readonly Part[],
  { file, schema, ...context }: PartsContext<Run>,
  simulate: (part: Part) => Promise<Run[]>,
): Promise<{ part: Part; runs: Run[] }[]> {
  const names = createHash('sha256')
    .update(parts.map(({ name }) => name).join('\n'))
    .digest('hex');
  const store = await RunStore.open(file, { program: names }, { run: schema, resume: true, hint: againHint });
  await runParts(store, parts, context, simulate);
  return parts.flatMap((part) => {
    const runs = store.cells.get(part.name);
    return runs ? [{ part, runs }] : [];
  });
}
