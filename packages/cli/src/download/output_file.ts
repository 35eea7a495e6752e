import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { systemErrorCode, UserError } from '@sheaf/gateway/client';
import type { BodySink } from './download.js';

/**
 * A file that appears under its name only when it is complete. Until then it is written beside that name. If the
 * transfer fails, an earlier file is left as it was.
 */
export class OutputFile {
  readonly #shown: string;
  readonly #target: string;
  /** File that receives the bytes; the target itself if that is no ordinary file, such as `/dev/null` */
  readonly #part: string;
  readonly #stream: WriteStream;

  private constructor(shown: string, target: string, part: string, mode: number | undefined) {
    this.#shown = shown;
    this.#target = target;
    this.#part = part;
    this.#stream = createWriteStream(part, mode === undefined ? {} : { mode });
    // The calls that wait for the stream report its errors.
    this.#stream.on('error', () => undefined);
  }

  /** Opens the file. `shown` is the path as the user wrote it. @throws UserError */
  static async open(path: string, shown: string): Promise<OutputFile> {
    const target = await realpath(path).catch(() => path);
    const before = await stat(target).catch(() => undefined);
    const inPlace = before !== undefined && !before.isFile();
    const file = new OutputFile(shown, target, inPlace ? target : `${target}.${process.pid}.part`, before?.mode);
    await file.#guard(once(file.#stream, 'open'));
    return file;
  }

  /** Writes bytes of the body. Resolves once they are written. */
  readonly sink: BodySink = async (part) => {
    if (this.#stream.errored) await this.#guard(Promise.reject(this.#stream.errored));
    await this.#guard(
      new Promise<void>((resolve, reject) => this.#stream.write(part, (error) => (error ? reject(error) : resolve()))),
    );
  };

  /** Gives the complete file its name. @throws UserError */
  async commit(): Promise<void> {
    const written = finished(this.#stream);
    this.#stream.end();
    await this.#guard(written);
    if (this.#part !== this.#target) await this.#guard(rename(this.#part, this.#target));
  }

  /** Removes everything that a failed transfer has written. */
  async discard(): Promise<void> {
    this.#stream.destroy();
    if (this.#part !== this.#target) await rm(this.#part, { force: true });
  }

  async #guard(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      throw new UserError(
        'FILE_UNWRITABLE',
        `${this.#shown} cannot be written (${systemErrorCode(error) ?? 'unknown error'})`,
        { hint: hintFor(systemErrorCode(error)), cause: error },
      );
    }
  }
}

function hintFor(code: string | undefined): string {
  switch (code) {
    case 'ENOENT':
      return 'its directory does not exist: create it, or name another one';
    case 'EISDIR':
      return 'it is a directory: name a file in it';
    case 'ENOSPC':
      return 'the disk is full';
    default:
      return 'check its permissions and those of its directory';
  }
}
