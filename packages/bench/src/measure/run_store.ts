import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { parseJson } from '../process/json_lines.js';

/**
 * Settings that all runs of a file share, by the name of the option. `program` is the SHA-256 of the program that made
 * them, and `versions` those of compared programs. Runs with other settings cannot be added.
 */
export type RunSettings = Readonly<Record<string, number | string>>;

const runSettingsSchema = z.record(z.string(), z.union([z.number(), z.string()]));

interface StoreOptions<Run> {
  run: z.ZodType<Run>;
  /** Whether to keep the runs in the file */
  resume: boolean;
  /** Says how to begin anew when the file cannot be continued */
  hint?: string;
}

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
    { run, resume, hint = 'leave out --resume to begin anew' }: StoreOptions<Run>,
  ): Promise<RunStore<Run>> {
    if (resume) {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text !== undefined) return new RunStore(file, await continueFile(file, text, settings, { run, hint }));
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
  { run, hint }: { run: z.ZodType<Run>; hint: string },
): Promise<Map<string, Run[]>> {
  const lineSchema = z.object({ cell: z.string(), runs: z.array(run) });
  const [first = '', ...lines] = text.split('\n');
  const found = runSettingsSchema.safeParse(parseJson(first));
  if (!found.success) throw new UserError('BENCH_FAILED', `${file} is no file of runs`, { hint });
  for (const [name, value] of Object.entries(settings)) {
    const had = found.data[name];
    if (had === value) continue;
    throw new UserError('BENCH_FAILED', `${file} cannot be continued: ${differenceText(name, had)}`, { hint });
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

function differenceText(name: string, had: number | string | undefined): string {
  if (name === 'program') return 'the program has changed since';
  if (name === 'versions') return 'compared programs have other versions now';
  return `it has ${had === undefined ? `no --${name}` : `--${name} ${had}`}`;
}
