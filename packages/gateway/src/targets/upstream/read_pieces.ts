import type { OnReadOpts, Socket } from 'node:net';

/** What is read at once from an upstream whose client may not take it, and from one whose client does. */
const smallBytes = 16 * 1024;
const largeBytes = 64 * 1024;
/** So many full pieces are more than the buffers on the way to a client hold. Each that is not full halves what is remembered. */
const piecesUntilLarge = 16;
const piecesRemembered = 128;

/** All sockets are read into the same memory, one after the other; from there what was read is copied. */
const shared = Buffer.allocUnsafeSlow(smallBytes);

/**
 * How a socket of an upstream is read: in small pieces, until the client has shown that it takes what is read. Node reads 64 KB,
 * which three stages between the upstream and a client that takes nothing hold each.
 */
export function readPieces(): { onread: OnReadOpts; highWaterMark: number } {
  const filled = new WeakMap<Socket, number>();
  let next: Uint8Array | undefined;
  function take(this: Socket, bytes: number, buffer: Uint8Array): boolean {
    const before = filled.get(this) ?? 0;
    // TLS hands out 16 KB at most, of which a larger Buffer would keep four times as much memory.
    const full = bytes >= (buffer === shared ? smallBytes : largeBytes / 2);
    const pieces = full ? Math.min(before + 1, piecesRemembered) : before >> 1;
    filled.set(this, pieces);
    if (pieces >= piecesUntilLarge) next = Buffer.allocUnsafeSlow(largeBytes);
    // A Buffer of its own that is filled goes on as it is.
    return this.push(buffer !== shared && full ? buffer.subarray(0, bytes) : Buffer.from(buffer.subarray(0, bytes)));
  }
  // Node asks before the first piece of a socket, and after each.
  const buffer = (): Uint8Array => {
    const chosen = next ?? shared;
    next = undefined;
    return chosen;
  };
  return { onread: { buffer, callback: take }, highWaterMark: smallBytes };
}
