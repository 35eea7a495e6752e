import type { Delivery } from '../schema/delivery.js';
import type { FallbackReason } from './fallback_reasons.js';

/** How the response of a backend travels to the client */
export interface Delivered {
  readonly delivery: Delivery;
  /** Name of the backend; the node's own one where this is not set */
  readonly backend?: string | undefined;
  /** Why the gateway sent the response, or its rest */
  readonly fallback?: FallbackReason;
  /** Bytes of the body that the backend sent from the gateway's address */
  readonly returnedBytes?: number;
}

/**
 * Returns the entry of Server-Timing that tells how a response travels; undefined when it could travel in no other way.
 */
export function deliveryTiming({ delivery, backend = '', fallback }: Delivered): string | undefined {
  if (delivery === 'proxy' && fallback === undefined) return undefined;
  const reason = fallback === undefined ? '' : `: ${fallback}`;
  return `sheaf-delivery;desc="${delivery} ${backend}${reason}"`;
}
