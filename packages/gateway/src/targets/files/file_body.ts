import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readCached } from '@sheaf/native';
import type { GatewayResponse } from '../../http/exchange.js';
import type { Range } from './requested_range.js';

/** Bytes to read at once, if the response does not tell how many it has room for */
const readBytes = 64 * 1024;
/**
 * Number of pieces after which other work gets its turn, since reading from memory for a fast reader would never wait
 */
const piecesInTurn = 16;

/** The part of a response that tells how many bytes it has room for, and lends memory to read them into */
type BodyMemory = Pick<GatewayResponse, 'room' | 'takeBuffer'>;

/**
 * Streams these bytes of an open file, and closes the file at the end. Reads nothing before the response has room for
 * it. Fails if the file has become shorter meanwhile: its length was already sent, so the client would read what
 * follows on the connection as the missing part.
 */
export function fileBody(handle: FileHandle, { start, end }: Range, response: BodyMemory = {}): Readable {
  let at = start;
  let pieces = 0;
  return new Readable({
    // Reads only one piece at a time, since the client may not want what is read ahead.
    highWaterMark: 1,
    read() {
      if (at === end) {
        this.push(null);
        return;
      }
      pieces += 1;
      readPiece(handle, at, end, response, pieces % piecesInTurn === 0).then(
        (piece) => {
          at += piece.length;
          if (piece.length === 0) this.destroy(new Error(`the file ended at byte ${at}, before byte ${end}`));
          else this.push(piece);
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

async function readPiece(
  handle: FileHandle,
  at: number,
  end: number,
  response: BodyMemory,
  waits: boolean,
): Promise<Buffer> {
  if (waits) await nextTurn();
  const room = (await response.room?.()) ?? readBytes;
  const bytes = Math.min(room, end - at);
  const buffer = response.takeBuffer?.(bytes) ?? Buffer.allocUnsafeSlow(bytes);
  // Most requested files are in memory. For these, another thread would cost more than the copy.
  const bytesRead = readCached(handle.fd, buffer, at) || (await handle.read(buffer, 0, buffer.length, at)).bytesRead;
  if (bytesRead === buffer.length) return buffer;
  // Copies short pieces, so that what is held for a client counts by its bytes, not by the memory around them.
  return bytesRead < buffer.length / 2 ? Buffer.from(buffer.subarray(0, bytesRead)) : buffer.subarray(0, bytesRead);
}
