import { once } from 'node:events';
import { mkdir, readdir, realpath, rename, rm } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { systemErrorCode, UserError } from '@sheaf/gateway/client';
import type { BodySink } from '../download/download.js';
import { unpackFiles } from './unpack.js';

/**
 * A directory that appears under its name only when all files of a publication are in it. Until then they are written into one beside it.
 */
export class OutputDirectory {
  readonly #input = new PassThrough();
  readonly #unpacked: Promise<void>;

  private constructor(
    private readonly shown: string,
    private readonly target: string,
    private readonly part: string,
  ) {
    // The calls that write report what fails.
    this.#input.on('error', () => undefined);
    this.#unpacked = unpackFiles(this.#input as AsyncIterable<Buffer>, part);
    this.#unpacked.catch(() => undefined);
  }

  /** Opens a directory that does not exist, or is empty. `shown` is the path as the user wrote it. @throws UserError */
  static async open(path: string, shown: string): Promise<OutputDirectory> {
    const target = await realpath(path).catch(() => path);
    const names = await readdir(target).catch((error: unknown) => {
      if (systemErrorCode(error) === 'ENOENT') return [];
      throw unwritable(shown, error);
    });
    if (names.length > 0)
      throw new UserError('FILE_UNWRITABLE', `${shown} is not empty`, { hint: 'name a new directory' });
    const part = `${target}.${process.pid}.part`;
    await mkdir(part).catch((error: unknown) => {
      throw unwritable(shown, error);
    });
    return new OutputDirectory(shown, target, part);
  }

  /** Takes bytes of the publication. */
  readonly sink: BodySink = async (bytes) => {
    if (this.#input.destroyed) await this.#finished();
    if (!this.#input.write(Buffer.from(bytes))) await Promise.race([once(this.#input, 'drain'), this.#finished()]);
  };

  /** Gives the complete directory its name. @throws UserError */
  async commit(): Promise<void> {
    this.#input.end();
    await this.#finished();
    await rename(this.part, this.target).catch((error: unknown) => {
      throw unwritable(this.shown, error);
    });
  }

  /** Removes everything that a failed transfer has written. */
  async discard(): Promise<void> {
    this.#input.destroy();
    await this.#unpacked.catch(() => undefined);
    await rm(this.part, { recursive: true, force: true });
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

const unwritable = (shown: string, cause: unknown): UserError =>
  new UserError('FILE_UNWRITABLE', `${shown} cannot be written (${systemErrorCode(cause) ?? 'unknown error'})`, {
    hint: 'check the permissions of its parent directory, and the space on its disk',
    cause,
  });
