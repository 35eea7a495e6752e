import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { z } from 'zod';

/**
 * Settings that all runs of a file share, by the name of the option. `program` is the SHA-256 of the program that made
 * them. Runs with other settings cannot be added.
 */
export type RunSettings = Readonly<Record<string, number | string>>;

const runSettingsSchema = z.record(z.string(), z.union([z.number(), z.string()]));

/**
 * Stores runs as they finish, in a file with one line for some runs of a cell, so that nothing is lost when an
 * experiment ends early.
 */
export class RunStore<Run> {
  private constructor(
    private readonly file: string,
    readonly cells: Map<string, Run[]>,
  ) {}

  /**
   * Opens a store. With `resume`, keeps the runs in the file. @throws UserError when they were made with other settings
   */
  static async open<Run>(
    file: string,
    settings: RunSettings,
    { run, resume }: { run: z.ZodType<Run>; resume: boolean },
  ): Promise<RunStore<Run>> {
    if (resume) {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text !== undefined) return new RunStore(file, await continueFile(file, text, settings, run));
    }
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${JSON.stringify(settings)}\n`);
    return new RunStore(file, new Map<string, Run[]>());
  }

  async add(cell: string, runs: Run[]): Promise<void> {
    this.cells.set(cell, [...(this.cells.get(cell) ?? []), ...runs]);
    await appendFile(this.file, `${JSON.stringify({ cell, runs })}\n`);
  }
}

async function continueFile<Run>(
  file: string,
  text: string,
  settings: RunSettings,
  run: z.ZodType<Run>,
): Promise<Map<string, Run[]>> {
  const lineSchema = z.object({ cell: z.string(), runs: z.array(run) });
  const [first = '', ...lines] = text.split('\n');
  const found = runSettingsSchema.safeParse(parseJson(first));
  if (!found.success)
    throw new UserError('BENCH_FAILED', `${file} is no file of runs`, { hint: 'leave out --resume to begin anew' });
  for (const [name, value] of Object.entries(settings)) {
    const had = found.data[name];
    if (had === value) continue;
    const difference =
      name === 'program'
        ? 'the program has changed since'
        : `it has ${had === undefined ? `no --${name}` : `--${name} ${had}`}`;
    throw new UserError('BENCH_FAILED', `${file} cannot be continued: ${difference}`, {
      hint: 'leave out --resume to begin anew',
    });
  }
  const cells = new Map<string, Run[]>();
  const kept: string[] = [];
  for (const line of lines) {
    // The last line is incomplete if the machine stopped while writing it.
    const parsed = lineSchema.safeParse(parseJson(line));
    if (!parsed.success) continue;
    cells.set(parsed.data.cell, [...(cells.get(parsed.data.cell) ?? []), ...parsed.data.runs]);
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
