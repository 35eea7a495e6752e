import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { systemErrorCode, UserError } from '@sheaf/gateway/client';
import type { BodySink } from './download.js';

/**
 * A file that appears under its name once it is whole: until then it is written beside it. What
 * stood there before is left alone when the transfer fails.
 */
export class OutputFile {
  readonly #shown: string;
  readonly #target: string;
  /** Where the bytes go; the target itself when that is no ordinary file, such as `/dev/null`. */
  readonly #part: string;
  readonly #stream: WriteStream;

  private constructor(shown: string, target: string, part: string, mode: number | undefined) {
    this.#shown = shown;
    this.#target = target;
    this.#part = part;
    this.#stream = createWriteStream(part, mode === undefined ? {} : { mode });
    // Told by the calls that wait for the stream.
    this.#stream.on('error', () => undefined);
  }

  /** `shown` is the path in the user's words. @throws UserError */
  static async open(path: string, shown: string): Promise<OutputFile> {
    const target = await realpath(path).catch(() => path);
    const before = await stat(target).catch(() => undefined);
    const inPlace = before !== undefined && !before.isFile();
    const file = new OutputFile(shown, target, inPlace ? target : `${target}.${process.pid}.part`, before?.mode);
    await file.#guard(once(file.#stream, 'open'));
    return file;
  }

  /** Takes the body's bytes; resolves once they are written. */
  readonly sink: BodySink = async (part) => {
    if (this.#stream.errored) await this.#guard(Promise.reject(this.#stream.errored));
    await this.#guard(
      new Promise<void>((resolve, reject) => this.#stream.write(part, (error) => (error ? reject(error) : resolve()))),
    );
  };

  /** The transfer is complete: the file takes its name. @throws UserError */
  async commit(): Promise<void> {
    const written = finished(this.#stream);
    this.#stream.end();
    await this.#guard(written);
    if (this.#part !== this.#target) await this.#guard(rename(this.#part, this.#target));
  }

  /** The transfer failed: nothing is left of it. */
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
