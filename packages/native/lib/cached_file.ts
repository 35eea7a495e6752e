import { addon } from './addon.js';

/**
 * Reads bytes of an open file that are in the system's page cache, without a wait for a disk or another thread (`preadv2`
 * with `RWF_NOWAIT`). Returns their number, 0 where there are none, where the file ends, and where its file system cannot say:
 * then read the file as usual.
 * @param position offset in the file, in bytes
 */
export function readCached(descriptor: number, into: Uint8Array, position: number): number {
  return addon().readCached(descriptor, into, position);
}
