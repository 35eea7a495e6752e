import { FileState } from '../../tls/file_state.js';
import { poll } from '../../tls/poll.js';

/**
 * Calls `changed` when a file is no more as in `state`: when it is written or replaced, in place, by a rename, or behind a symbolic link on any level. Looks at the
 * name from time to time, since notices of the system stay with the directory that a link led to. Waits until the file has been
 * the same twice, as it may be half written. Returns a function that ends this.
 */
export function watchFile(state: FileState, changed: () => Promise<unknown>, everyMs = 500): () => void {
  let settles = false;
  return poll(everyMs, async () => {
    const differs = await state.changed();
    const settled = settles && !differs;
    settles = differs;
    if (settled) await changed();
  });
}
