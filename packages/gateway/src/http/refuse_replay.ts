import type { Exchange } from './exchange.js';
import { isSafe } from './methods.js';
import { respondStatus } from './respond.js';

/**
 * Answers 425 to a possible replay that could change something, and returns true (RFC 8470 §5.2). The client sends the
 * request again once the handshake is complete.
 */
export function refuseReplay(exchange: Exchange): boolean {
  const { early, method } = exchange.request;
  if (!early || isSafe(method)) return false;
  respondStatus(exchange, 425);
  return true;
}
