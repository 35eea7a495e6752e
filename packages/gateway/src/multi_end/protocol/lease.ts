import type { BackendLease } from '@sheaf/native';
import { z } from 'zod';
import type { Exchange } from '../../http/exchange.js';
import { respondStatus, respondText } from '../../http/respond.js';

const bytes = z.number().int().nonnegative();

/** A backend's answer about the credit that it has on a client's connection, in totals since the hand-over */
export const leaseSchema = z.object({ granted: bytes, returned: bytes, left: bytes });

/** Answers with the lease of the requesting connection only; 404 if it was not handed over here. */
export function respondLease(exchange: Exchange): void {
  const lease = ownLease(exchange);
  if (lease)
    respondText(exchange, 200, `${JSON.stringify(lease)}\n`, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
    });
  else respondStatus(exchange, 404);
}

/** Returns the lease of the request's connection. Only on a backend does a lease contain `left`. */
function ownLease({ request }: Exchange): BackendLease | undefined {
  return request.connection?.status().backends.find(({ lease }) => lease?.left !== undefined)?.lease;
}
