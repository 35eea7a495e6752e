import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { resultSchema, type Result } from './result.js';

/** Directories of results: full ones in the repository, quick ones outside of version control */
export interface ResultDirectories {
  full: string;
  quick: string;
}

/** Stores results as JSON, in one file for each artefact. A quick run never replaces a full one. */
export class ResultStore {
  readonly #directories: ResultDirectories;

  constructor(directories: ResultDirectories) {
    this.#directories = directories;
  }

  /**
   * Reads a result; undefined when the artefact was never measured in this way. @throws UserError when the file is
   * invalid
   */
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

  /** Writes a result. Returns its file. */
  async write(result: Result): Promise<string> {
    const file = this.#fileOf(result.artefact, result.quick);
    await mkdir(dirname(file), { recursive: true });
    // Renames a complete file, so that readers never see half of it, and an interrupted run keeps the earlier result.
    await writeFile(`${file}.new`, `${JSON.stringify(result)}\n`);
    await rename(`${file}.new`, file);
    return file;
  }

  #fileOf(artefact: string, quick: boolean): string {
    return join(quick ? this.#directories.quick : this.#directories.full, `${artefact}.json`);
  }
}
