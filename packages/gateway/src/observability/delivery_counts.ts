import type { Delivered } from '../http/delivered.js';
import type { FallbackReason } from '../http/fallback_reasons.js';
import type { Delivery } from '../schema/delivery.js';

export type ReasonCounts = Partial<Record<FallbackReason, number>>;

/** How responses of one backend travelled since the start */
export interface BackendDeliveries {
  responses: Partial<Record<Delivery, number>>;
  /** Responses that were proxied although their routes permit another way */
  fallbacks: ReasonCounts;
  /** Responses that the backend began to send from the gateway's address, and did not send to the end */
  lost: ReasonCounts;
  /** Responses that the backend sent from the gateway's address with packet numbers and recovery of its own */
  ownRecovery: number;
  /** Bytes of bodies that the backend sent from the gateway's address */
  returnedBytes: number;
}

/** Counts how responses of backends travelled. */
export class DeliveryCounts {
  readonly #backends = new Map<string, BackendDeliveries>();

  add({ delivery, backend = '', recovery, fallback, returnedBytes = 0 }: Delivered): void {
    const counts = this.of(backend);
    this.#backends.set(backend, counts);
    increase(counts.responses, delivery);
    if (fallback !== undefined) increase(delivery === 'return' ? counts.lost : counts.fallbacks, fallback);
    if (recovery === 'backend') counts.ownRecovery += 1;
    counts.returnedBytes += returnedBytes;
  }

  of(backend: string): BackendDeliveries {
    return this.#backends.get(backend) ?? { responses: {}, fallbacks: {}, lost: {}, ownRecovery: 0, returnedBytes: 0 };
  }

  /** By the names of the backends */
  get all(): ReadonlyMap<string, BackendDeliveries> {
    return this.#backends;
  }
}

function increase<Key extends string>(counts: Partial<Record<Key, number>>, key: Key): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
