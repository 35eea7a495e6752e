import { markAsUntransferable } from 'node:worker_threads';

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

/** Bytes that are nobody else's. */
export function ownCopy(chunk: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(chunk.byteLength);
  copy.set(chunk);
  return copy;
}

/**
 * Bytes that the engine may read until they are acknowledged. A Buffer is lent without a copy, and its memory cannot be
 * transferred away from then on; what may shrink, could be taken away or belongs to foreign code is copied.
 */
export function lendable(chunk: Uint8Array): Buffer {
  const memory = chunk.buffer;
  const fixed = memory instanceof ArrayBuffer && (memory as { resizable?: boolean }).resizable !== true;
  if (!marksHold || !Buffer.isBuffer(chunk) || !fixed) return ownCopy(chunk);
  markAsUntransferable(memory);
  return chunk;
}
