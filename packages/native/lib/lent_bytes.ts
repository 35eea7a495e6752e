import { markAsUntransferable } from 'node:worker_threads';
import type { NativeEndpoint } from './addon.js';

/**
 * Whether marked memory cannot be transferred away. Node 20 has no `ArrayBuffer.prototype.transfer`. In Node 21 to 23
 * it takes marked memory away, which frees it under the engine. From Node 24 on it throws.
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

/** The addon copies chunks of up to this many bytes (`k_copied_bytes`): they need not be kept. */
const copiedBytes = 4096;

/** Returns bytes that nobody else can change while the engine reads them. */
export function ownCopy(chunk: Uint8Array): Uint8Array {
  if (chunk.byteLength <= copiedBytes) return chunk;
  const copy = Buffer.allocUnsafeSlow(chunk.byteLength);
  copy.set(chunk);
  return copy;
}

/**
 * Returns bytes that the engine may read until they are acknowledged. A Buffer is lent without a copy, and its memory
 * can no longer be transferred away. Memory that may shrink, could be taken away or belongs to foreign code is copied.
 */
export function lendable(chunk: Uint8Array): Uint8Array {
  if (chunk.byteLength <= copiedBytes) return chunk;
  const memory = chunk.buffer;
  const fixed = memory instanceof ArrayBuffer && (memory as { resizable?: boolean }).resizable !== true;
  if (!marksHold || !Buffer.isBuffer(chunk) || !fixed) return ownCopy(chunk);
  markAsUntransferable(memory);
  return chunk;
}

/** The sizes that `room` returns. Buffers of other sizes are too rare to keep. */
const pooledSizes = new Set([16 * 1024, 256 * 1024]);

/**
 * Buffers taken from the pool, by identity: a part of one, or another Buffer over the same memory, is lent like any
 * other.
 */
const fromPool = new WeakSet<Uint8Array>();

/** Returns a Buffer to fill and to lend once. The endpoint reuses its memory where it can. */
export function takeFromPool(endpoint: NativeEndpoint, bytes: number): Buffer {
  if (!marksHold || !pooledSizes.has(bytes)) return Buffer.allocUnsafeSlow(bytes);
  const buffer = endpoint.takeBuffer(bytes);
  fromPool.add(buffer);
  return buffer;
}

/**
 * Returns whether the chunk goes back to the pool once it was sent: true for the first `write` of a Buffer taken from
 * it.
 */
export function returnsToPool(chunk: Uint8Array | undefined): boolean {
  return chunk !== undefined && fromPool.delete(chunk);
}
