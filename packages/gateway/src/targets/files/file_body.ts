import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readCached } from '@sheaf/native';
import type { GatewayResponse } from '../../http/exchange.js';
import type { Range } from './requested_range.js';

/** Where the response does not say how much there is room for. */
const readBytes = 64 * 1024;
/** Pieces after which other work gets its turn: neither a file in memory nor a reader on the same machine makes this wait. */
const piecesInTurn = 16;

/** Where the bytes of a body go: how many there is room for, and the memory to read them into. */
type BodyMemory = Pick<GatewayResponse, 'room' | 'takeBuffer'>;

/**
 * These bytes of an open file, which it closes at its end. Nothing is read before the response has room for it. Fails when the
 * file has become shorter meanwhile: its length has been told, and what came next on the connection would be taken for the
 * missing part.
 */
export function fileBody(handle: FileHandle, { start, end }: Range, response: BodyMemory = {}): Readable {
  let at = start;
  let pieces = 0;
  return new Readable({
    // One piece at a time: what is read ahead is held for a client that may not want it.
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
  // Most files that are asked for are in memory: another thread would cost more than the copy.
  const bytesRead = readCached(handle.fd, buffer, at) || (await handle.read(buffer, 0, buffer.length, at)).bytesRead;
  if (bytesRead === buffer.length) return buffer;
  // What is held for a client counts by its bytes, not by the memory around them.
  return bytesRead < buffer.length / 2 ? Buffer.from(buffer.subarray(0, bytesRead)) : buffer.subarray(0, bytesRead);
}
