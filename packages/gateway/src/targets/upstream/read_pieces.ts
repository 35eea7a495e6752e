import type { OnReadOpts, Socket } from 'node:net';

/** Bytes to read at once from an upstream: few while the client may not take them, more once it does */
const smallBytes = 16 * 1024;
const largeBytes = 64 * 1024;
/**
 * Number of full pieces that exceeds what the buffers on the way to a client hold. Each piece that is not full halves
 * the count.
 */
const piecesUntilLarge = 16;
const piecesRemembered = 128;

/** Memory that all sockets are read into, one after the other, before the bytes are copied */
const shared = Buffer.allocUnsafeSlow(smallBytes);

/**
 * Returns how to read a socket of an upstream: in small pieces, until the client has shown that it takes them. By
 * default Node reads 64 KB, and three stages between upstream and client each hold that much while the client takes
 * nothing.
 */
export function readPieces(): { onread: OnReadOpts; highWaterMark: number } {
  const filled = new WeakMap<Socket, number>();
  let next: Uint8Array | undefined;
  function take(this: Socket, bytes: number, buffer: Uint8Array): boolean {
    const before = filled.get(this) ?? 0;
    // TLS delivers at most 16 KB at once, for which a larger Buffer would keep four times the memory.
    const full = bytes >= (buffer === shared ? smallBytes : largeBytes / 2);
    const pieces = full ? Math.min(before + 1, piecesRemembered) : before >> 1;
    filled.set(this, pieces);
    if (pieces >= piecesUntilLarge) next = Buffer.allocUnsafeSlow(largeBytes);
    // A full Buffer of its own is forwarded without a copy.
    return this.push(buffer !== shared && full ? buffer.subarray(0, bytes) : Buffer.from(buffer.subarray(0, bytes)));
  }
  // Node calls this before the first piece of a socket, and after each piece.
  const buffer = (): Uint8Array => {
    const chosen = next ?? shared;
    next = undefined;
    return chosen;
  };
  return { onread: { buffer, callback: take }, highWaterMark: smallBytes };
}
