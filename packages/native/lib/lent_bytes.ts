import { markAsUntransferable } from 'node:worker_threads';

/**
 * Bytes that the engine may read until they are acknowledged. A Buffer is lent without a copy, and its
 * memory cannot be transferred away from then on; what may shrink or belongs to foreign code is copied.
 */
export function lendable(chunk: Uint8Array): Buffer {
  const memory = chunk.buffer;
  const fixed = memory instanceof ArrayBuffer && (memory as { resizable?: boolean }).resizable !== true;
  if (!Buffer.isBuffer(chunk) || !fixed) return Buffer.from(chunk);
  markAsUntransferable(memory);
  return chunk;
}
