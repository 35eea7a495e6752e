import { errorMessage } from '@sheaf/gateway/client';
import { printNotice, type World } from '../world.js';

/**
 * Removes what a failed transfer has written. Does not fail itself, since its user has to hear of what failed first: what stays is
 * told in a line of its own.
 */
export async function discard(output: { discard(): Promise<void> } | undefined, { stderr }: World): Promise<void> {
  await output
    ?.discard()
    .catch((error: unknown) => printNotice(stderr, `warning: an incomplete output stays (${errorMessage(error)})`));
}
