import type { Delivery } from '../schema/delivery.js';

/**
 * Why the gateway sent a response, or the rest of one, although its route permits that a backend sends it from the gateway's
 * address.
 */
export const fallbackReasons = [
  // The request does not permit it.
  'http-version',
  'method',
  'request-body',
  'early-data',
  'page-session',
  'passed-on',
  // The backend cannot be asked for it.
  'no-runs',
  'unreachable',
  // The client's connection does not permit it now: `OfferRefusal`.
  'unconfirmed',
  'paths',
  'validating',
  'backends',
  'taken',
  'ended',
  // The backend proxied the response, because of `DeclineReason` or without a reason.
  'response',
  'small',
  'unknown',
  'draining',
  'busy',
  'refused',
  // The backend began, and did not come to the end: `ReturnLost`, also for `unreachable` and `paths`.
  'silent',
  'failed',
  'gone',
] as const;
export type FallbackReason = (typeof fallbackReasons)[number];

/** How the response of a backend travels to the client */
export interface Delivered {
  readonly delivery: Delivery;
  readonly backend: string;
  /** Why the gateway sent the response, or its rest */
  readonly fallback?: FallbackReason;
  /** Bytes of the body that the backend sent from the gateway's address */
  readonly returnedBytes?: number;
}
