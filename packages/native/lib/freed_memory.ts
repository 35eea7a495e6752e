import { addon } from './addon.js';

/**
 * Returns memory that native code has freed to the system. The C library itself returns only the end of its heap, where
 * something in use nearly always lies. Walks the whole heap, which takes milliseconds.
 */
export function returnFreedMemory(): void {
  addon().returnFreedMemory();
}
