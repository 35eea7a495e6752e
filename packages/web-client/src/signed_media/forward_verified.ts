import type { FrameCounts } from './group_matcher.js';
import type { TrackVerifier, VerifiedEvent } from './track_verifier.js';

/** What a worker that verifies tells its page */
export type VerifierMessage =
  | { readonly kind: 'event'; readonly event: VerifiedEvent; readonly counts: FrameCounts }
  | { readonly kind: 'over'; readonly counts: FrameCounts; readonly error?: string };

/** The part of a worker's scope, or of a port, that is used here */
export interface MessageTarget {
  postMessage(message: VerifierMessage, transfer: ArrayBuffer[]): void;
}

/** Runs in a worker: sends the page what passes, and the counts, until the track is over. */
export async function forwardVerified(verifier: TrackVerifier, target: MessageTarget): Promise<void> {
  const { counts } = verifier;
  try {
    for (let event = await verifier.next(); event; event = await verifier.next()) {
      if (event.kind === 'end') target.postMessage({ kind: 'event', event, counts }, []);
      else {
        // The payload may be a part of a buffer with other frames, which have to stay here.
        const payload = event.payload.slice();
        target.postMessage({ kind: 'event', event: { ...event, payload }, counts }, [payload.buffer]);
      }
    }
    target.postMessage({ kind: 'over', counts }, []);
  } catch (error) {
    target.postMessage({ kind: 'over', counts, error: error instanceof Error ? error.message : String(error) }, []);
  }
}
