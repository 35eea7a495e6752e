import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { runSchema, type Run } from './run_record.js';

/** What all runs of a file have in common; runs of other settings do not go with them. */
export const runSettingsSchema = z.strictObject({
  seed: z.number().int(),
  runs: z.number().int(),
  clients: z.number().int(),
  /** SHA-256 of the program that made the runs. */
  program: z.string(),
});
export type RunSettings = z.output<typeof runSettingsSchema>;

const lineSchema = z.object({ cell: z.string(), runs: z.array(runSchema) });

/** The runs of finished cells, in a file with a line for each, so that nothing is lost when an experiment ends early. */
export class RunStore {
  private constructor(
    private readonly file: string,
    readonly cells: Map<string, Run[]>,
  ) {}

  /** With `resume` the cells that are in the file stay. @throws UserError when they were made with other settings */
  static async open(file: string, settings: RunSettings, resume: boolean): Promise<RunStore> {
    if (resume) {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text !== undefined) return new RunStore(file, await continueFile(file, text, settings));
    }
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${JSON.stringify(settings)}\n`);
    return new RunStore(file, new Map());
  }

  async add(cell: string, runs: Run[]): Promise<void> {
    this.cells.set(cell, runs);
    await appendFile(this.file, `${JSON.stringify({ cell, runs })}\n`);
  }
}

async function continueFile(file: string, text: string, settings: RunSettings): Promise<Map<string, Run[]>> {
  const [first = '', ...lines] = text.split('\n');
  const found = runSettingsSchema.safeParse(parseJson(first));
  if (!found.success) throw new UserError('BENCH_FAILED', `${file} is no file of runs`, { hint: 'leave out --resume to begin anew' });
  for (const name of ['seed', 'runs', 'clients', 'program'] as const) {
    if (found.data[name] === settings[name]) continue;
    const difference = name === 'program' ? 'the program has changed since' : `it has --${name} ${found.data[name]}`;
    throw new UserError('BENCH_FAILED', `${file} cannot be continued: ${difference}`, { hint: 'leave out --resume to begin anew' });
  }
  const cells = new Map<string, Run[]>();
  const kept: string[] = [];
  for (const line of lines) {
    // The last line is cut off when the machine stopped on the way.
    const parsed = lineSchema.safeParse(parseJson(line));
    if (!parsed.success) continue;
    cells.set(parsed.data.cell, parsed.data.runs);
    kept.push(line);
  }
  await writeFile(file, `${[first, ...kept].join('\n')}\n`);
  return cells;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
