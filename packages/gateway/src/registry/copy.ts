import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { replaceFile } from '../values/replace_file.js';
import { maxValueBytes } from './driver.js';

/** Largest copy that is read, in bytes */
const maxCopyBytes = 16 * maxValueBytes;
/** Maximum of copies of other processes that are read */
const maxOthers = 16;
/** Hexadecimal digits that tell the copies of a directory apart */
const digits = 16;

/**
 * What the registry last told, on disk, for a start without it. The entries are signed like those of the registry, and are checked like
 * them when they are read. Each process of a directory writes a file of its own, and reads those of all: the newest entry counts.
 */
export class Copy {
  readonly #file: string;
  /** Names of the files of all processes */
  readonly #names: RegExp | undefined;
  #written: Promise<void> = Promise.resolve();

  constructor(file: string, names?: RegExp) {
    this.#file = file;
    this.#names = names;
  }

  /** Returns the copy of the process that runs these nodes of a fleet. */
  static of(directory: string, site: string, nodes: readonly string[]): Copy {
    const hash = createHash('sha256')
      .update(JSON.stringify([...nodes].sort()))
      .digest('hex')
      .slice(0, digits);
    // The name of a site is that of a bucket: it has no character with a meaning in an expression.
    return new Copy(
      join(directory, `registry-${site}-${hash}.json`),
      new RegExp(`^registry-${site}-[0-9a-f]{${digits}}\\.json$`),
    );
  }

  /** Returns entries by key, several of a key where several processes have written; none where there is nothing that can be read. */
  async read(): Promise<[key: string, value: Buffer][]> {
    const files = [basename(this.#file), ...(await this.#others())];
    const entries = await Promise.all(files.map((file) => entriesOf(join(dirname(this.#file), file))));
    return entries.flat();
  }

  /** Replaces the copy as a whole, one write after the other. Rejects when the directory cannot be written. */
  write(entries: ReadonlyMap<string, Buffer>): Promise<void> {
    const written = this.#written.then(() => this.#write(entries));
    this.#written = written.catch(() => undefined);
    return written;
  }

  async #write(entries: ReadonlyMap<string, Buffer>): Promise<void> {
    const text = JSON.stringify(
      Object.fromEntries([...entries].map(([key, value]) => [key, value.toString('base64')])),
    );
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    await replaceFile(this.#file, text);
  }

  async #others(): Promise<string[]> {
    const names = this.#names;
    if (!names) return [];
    const files = await readdir(dirname(this.#file)).catch(() => []);
    return files.filter((file) => names.test(file) && file !== basename(this.#file)).slice(0, maxOthers);
  }
}

async function entriesOf(file: string): Promise<[key: string, value: Buffer][]> {
  try {
    if ((await stat(file)).size > maxCopyBytes) return [];
    const entries = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    return Object.entries(entries).flatMap(([key, value]) =>
      typeof value === 'string' ? [[key, Buffer.from(value, 'base64')]] : [],
    );
  } catch {
    return [];
  }
}
