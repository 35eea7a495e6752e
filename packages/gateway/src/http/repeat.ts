import { isIdempotent } from './methods.js';

/**
 * Known state of a failed request: `nothing` of it was sent, the server did not process it (`unprocessed`), or neither
 * is sure (`unknown`).
 */
export type Failed = 'nothing' | 'unprocessed' | 'unknown';

/** Returns whether a request may be sent again. `whole`: its body can still be sent from the start, or it has none. */
export function mayRepeat(method: string, whole: boolean, failed: Failed): boolean {
  switch (failed) {
    case 'nothing':
      return true;
    case 'unprocessed':
      return whole;
    case 'unknown':
      // RFC 9110 §9.2.2: clients repeat only idempotent requests after an unclear failure.
      return whole && isIdempotent(method);
  }
}
