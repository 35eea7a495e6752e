import type { Exchange } from './exchange.js';
import { isSafe } from './methods.js';
import { respondStatus } from './respond.js';

/**
 * RFC 8470 §5.2: a request that may be a replay must not change anything. Answers 425 to one that could, and returns true:
 * the client sends it again once the handshake is complete.
 */
export function refuseReplay(exchange: Exchange): boolean {
  const { early, method } = exchange.request;
  if (!early || isSafe(method)) return false;
  respondStatus(exchange, 425);
  return true;
}
