import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '../values/replace_file.js';
import { maxValueBytes } from './driver.js';

/** Largest copy that is read, in bytes */
const maxCopyBytes = 16 * maxValueBytes;

/**
 * What the registry last told, on disk, for a start without it. The entries are signed like those of the registry, and are checked like
 * them when they are read.
 */
export class Copy {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** Returns entries by key; none where there is no copy, or none that can be read. */
  async read(): Promise<[key: string, value: Buffer][]> {
    try {
      if ((await stat(this.#file)).size > maxCopyBytes) return [];
      const entries = JSON.parse(await readFile(this.#file, 'utf8')) as Record<string, unknown>;
      return Object.entries(entries).flatMap(([key, value]) =>
        typeof value === 'string' ? [[key, Buffer.from(value, 'base64')]] : [],
      );
    } catch {
      return [];
    }
  }

  /** Replaces the copy as a whole. Rejects when the directory cannot be written. */
  async write(entries: ReadonlyMap<string, Buffer>): Promise<void> {
    const text = JSON.stringify(
      Object.fromEntries([...entries].map(([key, value]) => [key, value.toString('base64')])),
    );
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    await replaceFile(this.#file, text);
  }
}
