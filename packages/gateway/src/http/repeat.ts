import { isIdempotent } from './methods.js';

/**
 * What is known of a request that failed: that `nothing` of it was sent, that the server did nothing about it (`unprocessed`),
 * or neither (`unknown`).
 */
export type Failed = 'nothing' | 'unprocessed' | 'unknown';

/** Whether a request may be sent once more. `whole`: its body can still be sent from the start, or there is none. */
export function mayRepeat(method: string, whole: boolean, failed: Failed): boolean {
  switch (failed) {
    case 'nothing':
      return true;
    case 'unprocessed':
      return whole;
    case 'unknown':
      // RFC 9110 §9.2.2.
      return whole && isIdempotent(method);
  }
}
