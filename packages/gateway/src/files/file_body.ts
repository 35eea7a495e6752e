import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Range } from './requested_range.js';

/** Large enough that a big download costs few reads, small enough for many downloads at one time. */
const readBytes = 256 * 1024;

/**
 * These bytes of an open file, which it closes at its end. Fails when the file has become shorter meanwhile: its length has
 * been told, and what came next on the connection would be taken for the missing part.
 */
export function fileBody(handle: FileHandle, { start, end }: Range): Readable {
  let at = start;
  return new Readable({
    highWaterMark: readBytes,
    read() {
      if (at === end) {
        this.push(null);
        return;
      }
      const buffer = Buffer.allocUnsafeSlow(Math.min(readBytes, end - at));
      handle.read(buffer, 0, buffer.length, at).then(
        ({ bytesRead }) => {
          at += bytesRead;
          if (bytesRead === 0) this.destroy(new Error(`the file ended at byte ${at}, before byte ${end}`));
          else this.push(bytesRead === buffer.length ? buffer : buffer.subarray(0, bytesRead));
        },
        (error: unknown) => this.destroy(error as Error),
      );
    },
    destroy(error, callback) {
      handle.close().then(
        () => callback(error),
        (failure: unknown) => callback(error ?? (failure as Error)),
      );
    },
  });
}
