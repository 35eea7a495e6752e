import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { resultSchema, type Result } from './result.js';

/** Where results are kept: full ones with the repository, quick ones with what is not committed. */
export interface ResultDirectories {
  full: string;
  quick: string;
}

/** Results as JSON, one file for each artefact. A quick run never replaces a full one. */
export class ResultStore {
  readonly #directories: ResultDirectories;

  constructor(directories: ResultDirectories) {
    this.#directories = directories;
  }

  /** Undefined when the artefact was never measured in this way. @throws UserError when the file is not understood */
  async read(artefact: string, { quick }: { quick: boolean }): Promise<Result | undefined> {
    const file = this.#fileOf(artefact, quick);
    const content = await readFile(file, 'utf8').catch(() => undefined);
    if (content === undefined) return undefined;
    try {
      return resultSchema.parse(JSON.parse(content));
    } catch {
      throw new UserError('BENCH_FAILED', `${file} is no result`, { hint: 'delete the file and measure again' });
    }
  }

  /** Returns the file. */
  async write(result: Result): Promise<string> {
    const file = this.#fileOf(result.artefact, result.quick);
    await mkdir(dirname(file), { recursive: true });
    // A reader never sees half of a file, and an interrupted run leaves the earlier result.
    await writeFile(`${file}.new`, `${JSON.stringify(result)}\n`);
    await rename(`${file}.new`, file);
    return file;
  }

  #fileOf(artefact: string, quick: boolean): string {
    return join(quick ? this.#directories.quick : this.#directories.full, `${artefact}.json`);
  }
}
