import type { BackendLease } from '@sheaf/native';
import { z } from 'zod';
import type { Exchange } from '../../http/exchange.js';
import { respondStatus, respondText } from '../../http/respond.js';

const bytes = z.number().int().nonnegative();

/** What a backend tells a client of the credit that it has on its connection, totals since the hand-over. */
export const leaseSchema = z.object({ granted: bytes, returned: bytes, left: bytes });

/** Answers with the lease of the connection that asks, and with no other's; 404 to those who have handed none over. */
export function respondLease(exchange: Exchange): void {
  const lease = ownLease(exchange);
  if (lease)
    respondText(exchange, 200, `${JSON.stringify(lease)}\n`, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
    });
  else respondStatus(exchange, 404);
}

/** What is left is known to the backend alone. */
function ownLease({ request }: Exchange): BackendLease | undefined {
  return request.connection?.status().backends.find(({ lease }) => lease?.left !== undefined)?.lease;
}
