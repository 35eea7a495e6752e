import { chmod, mkdir, mkdtemp, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { systemErrorCode, UserError } from '@sheaf/gateway/client';
import type { BodySink } from '../download/download.js';
import { unpackFiles } from './unpack.js';

/** Where the files of a publication are until all are there, and where they go then */
interface Places {
  target: string;
  /** A directory of its own that nobody else may enter */
  part: string;
  /** The directory in `part` that has the files */
  files: string;
  /** Permissions of `target`. Undefined when it does not exist. */
  mode: number | undefined;
  /** Whether `target` begins another file system than its parent: then `part` is in it, since no rename leads there. */
  isMount: boolean;
}

/**
 * A directory that appears under its name only when all files of a publication are in it. Until then they are written into one beside
 * it, or in it when it is a mount point.
 */
export class OutputDirectory {
  readonly #input = new PassThrough();
  readonly #unpacked: Promise<void>;
  /** Continues a write that waits. A reaction of `#unpacked` for each write would stay until the last file is there. */
  #wake: () => void = () => undefined;
  #isKept = false;

  private constructor(
    private readonly shown: string,
    private readonly places: Places,
  ) {
    // The calls that write report what fails.
    this.#input.on('error', () => undefined);
    this.#input.on('drain', () => this.#wake()).on('close', () => this.#wake());
    this.#unpacked = unpackFiles(this.#input as AsyncIterable<Buffer>, places.files);
    this.#unpacked.catch(() => undefined);
  }

  /** Opens a directory that does not exist, or is empty. `shown` is the path as the user wrote it. @throws UserError */
  static async open(path: string, shown: string): Promise<OutputDirectory> {
    const target = await realpath(path).catch(() => path);
    const names = await readdir(target).catch((error: unknown) => {
      if (systemErrorCode(error) === 'ENOENT') return undefined;
      throw unwritable(shown, error);
    });
    if (names && names.length > 0)
      throw new UserError('FILE_UNWRITABLE', `${shown} is not empty`, { hint: 'name a new directory' });
    const places = await makePlaces(target, names !== undefined).catch((error: unknown) => {
      throw unwritable(shown, error);
    });
    return new OutputDirectory(shown, places);
  }

  /** Takes bytes of the publication. */
  readonly sink: BodySink = async (bytes) => {
    if (!this.#input.destroyed && !this.#input.write(Buffer.from(bytes)))
      await new Promise<void>((resolve) => (this.#wake = resolve));
    // Who reads it has ended before the end.
    if (this.#input.destroyed) await this.#finished();
  };

  /** Gives the complete directory its name. When this alone fails, the files stay where they are. @throws UserError */
  async commit(): Promise<void> {
    this.#input.end();
    await this.#finished();
    await place(this.places).catch((error: unknown) => {
      this.#isKept = true;
      const { files, isMount, target } = this.places;
      // They move one by one there.
      const where = isMount ? `${files} and ${target}` : files;
      throw unwritable(this.shown, error, `all its files are complete: take them from ${where}`);
    });
  }

  /** Removes everything that a failed transfer has written, except for files that are complete. */
  async discard(): Promise<void> {
    this.#input.destroy();
    await this.#unpacked.catch(() => undefined);
    if (!this.#isKept) await rm(this.places.part, { recursive: true, force: true });
  }

  async #finished(): Promise<void> {
    await this.#unpacked.catch((error: unknown) => {
      if (!(error instanceof RangeError)) throw unwritable(this.shown, error);
      throw new UserError('CHANNEL_INCOMPLETE', `the files of the publication are refused: ${error.message}`, {
        hint: 'nothing of it was kept',
      });
    });
  }
}

async function makePlaces(target: string, exists: boolean): Promise<Places> {
  const before = exists ? await stat(target) : undefined;
  const isMount = before !== undefined && before.dev !== (await stat(dirname(target))).dev;
  const part = await mkdtemp(isMount ? join(target, '.part-') : `${target}.part-`);
  const files = join(part, 'files');
  await mkdir(files);
  return { target, part, files, mode: before && before.mode & 0o7777, isMount };
}

/** Moves the files to their place, as a whole unless it is a mount point. */
async function place({ target, part, files, mode, isMount }: Places): Promise<void> {
  if (isMount) {
    // What a rename of the whole would refuse: somebody has written there, whose files would be replaced.
    if ((await readdir(target)).length > 1) throw Object.assign(new Error('not empty any more'), { code: 'ENOTEMPTY' });
    for (const name of await readdir(files)) await rename(join(files, name), join(target, name));
  } else {
    if (mode !== undefined) await chmod(files, mode);
    await rename(files, target);
  }
  // The files are there, whatever becomes of the empty rest.
  await rm(part, { recursive: true, force: true }).catch(() => undefined);
}

const unwritable = (
  shown: string,
  cause: unknown,
  hint = 'check its permissions and those of its parent directory, and the space on its disk',
): UserError =>
  new UserError('FILE_UNWRITABLE', `${shown} cannot be written (${systemErrorCode(cause) ?? 'unknown error'})`, {
    hint,
    cause,
  });
