import { markAsUntransferable } from 'node:worker_threads';
import type { NativeEndpoint } from './addon.js';

/**
 * Whether memory that is marked stays where it is. Node 20 has no `ArrayBuffer.prototype.transfer`; 21 to 23 have it, and it
 * takes marked memory away, which frees it under the engine; from 24 on it throws.
 */
const marksHold = ((): boolean => {
  const memory = new ArrayBuffer(1);
  markAsUntransferable(memory);
  try {
    (memory as { transfer?: () => void }).transfer?.();
  } catch {
    return true;
  }
  return memory.byteLength === 1;
})();

/** Up to so many bytes the addon makes a copy of its own (`k_copied_bytes`): they need not be kept. */
const copiedBytes = 4096;

/** Bytes that nobody else can change while the engine reads them. */
export function ownCopy(chunk: Uint8Array): Uint8Array {
  if (chunk.byteLength <= copiedBytes) return chunk;
  const copy = Buffer.allocUnsafeSlow(chunk.byteLength);
  copy.set(chunk);
  return copy;
}

/**
 * Bytes that the engine may read until they are acknowledged. A Buffer is lent without a copy, and its memory cannot be
 * transferred away from then on; what may shrink, could be taken away or belongs to foreign code is copied.
 */
export function lendable(chunk: Uint8Array): Uint8Array {
  if (chunk.byteLength <= copiedBytes) return chunk;
  const memory = chunk.buffer;
  const fixed = memory instanceof ArrayBuffer && (memory as { resizable?: boolean }).resizable !== true;
  if (!marksHold || !Buffer.isBuffer(chunk) || !fixed) return ownCopy(chunk);
  markAsUntransferable(memory);
  return chunk;
}

/** What `room` says: of other sizes there are too few to keep. */
const pooledSizes = new Set([16 * 1024, 256 * 1024]);

/** By identity, so that a part of one, or another Buffer where one was, is lent like any other. */
const fromPool = new WeakSet<Uint8Array>();

/** A Buffer to fill and to lend once, whose memory the endpoint uses again where it can. */
export function takeFromPool(endpoint: NativeEndpoint, bytes: number): Buffer {
  if (!marksHold || !pooledSizes.has(bytes)) return Buffer.allocUnsafeSlow(bytes);
  const buffer = endpoint.takeBuffer(bytes);
  fromPool.add(buffer);
  return buffer;
}

/** Whether it goes back to the pool once it was sent: true for the first `write` of a Buffer that was taken. */
export function returnsToPool(chunk: Uint8Array | undefined): boolean {
  return chunk !== undefined && fromPool.delete(chunk);
}
