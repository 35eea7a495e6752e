import { stat } from 'node:fs/promises';

/** Interval at which files are checked, in milliseconds */
export const filePollMs = 1_000;

/** Notices when one of several files is written or replaced, also behind a symbolic link. */
export class FileState {
  readonly #files: readonly string[];
  #seen: string;

  private constructor(files: readonly string[], seen: string) {
    this.#files = files;
    this.#seen = seen;
  }

  static async of(files: readonly string[]): Promise<FileState> {
    return new FileState(files, await fingerprint(files));
  }

  /**
   * Returns whether a file changed since the last call. Files that were only half replaced change again with their
   * other half.
   */
  async changed(): Promise<boolean> {
    const before = this.#seen;
    this.#seen = await fingerprint(this.#files);
    return this.#seen !== before;
  }
}

async function fingerprint(files: readonly string[]): Promise<string> {
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  return stats.map((entry) => `${entry?.ino}:${entry?.size}:${entry?.mtimeMs}`).join(' ');
}
