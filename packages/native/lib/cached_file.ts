import { addon } from './addon.js';

/**
 * Reads bytes of an open file that are in the system's memory, without a wait for a disk or another thread. Returns their
 * number; 0 where there are none, the file ends, or its file system cannot say (`preadv2` with `RWF_NOWAIT`): then read it as
 * usual.
 */
export function readCached(descriptor: number, into: Uint8Array, position: number): number {
  return addon().readCached(descriptor, into, position);
}
