import type { ReturnRecovery } from '@sheaf/native';
import type { Delivery } from '../schema/delivery.js';
import type { FallbackReason } from './fallback_reasons.js';

/** How the response of a backend travels to the client */
export interface Delivered {
  readonly delivery: Delivery;
  /** The node that numbered the packets of a returned response, if it was not the gateway */
  readonly recovery?: 'backend';
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
export function deliveryTiming({ delivery, backend = '', recovery, fallback }: Delivered): string | undefined {
  if (delivery === 'proxy' && fallback === undefined) return undefined;
  const numbered = recovery === undefined ? '' : ` recovery=${recovery}`;
  const reason = fallback === undefined ? '' : `: ${fallback}`;
  return `sheaf-delivery;desc="${delivery} ${backend}${numbered}${reason}"`;
}

/** Returns how a response travels that a backend sends from the gateway's address. */
export function returned(recovery: ReturnRecovery, backend?: string): Delivered {
  return {
    delivery: 'return',
    ...(backend !== undefined && { backend }),
    ...(recovery === 'backend' && { recovery }),
  };
}
