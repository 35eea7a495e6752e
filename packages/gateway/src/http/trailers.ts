import type { GatewayResponse, RequestHeaders } from './exchange.js';
import { isClaim, withoutHopByHop } from './forwarded_headers.js';

/**
 * Fields that must come before the body (RFC 9110 §6.5.1): framing, routing, authentication, and how to read the body
 */
const settledBefore = new Set([
  'age',
  'authorization',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'expect',
  'expires',
  'host',
  'location',
  'max-forwards',
  'pragma',
  'range',
  'retry-after',
  'set-cookie',
  'trailer',
  'vary',
  'www-authenticate',
]);

/** Returns the trailers that may be forwarded. */
export function forwardedTrailers(trailers: RequestHeaders): Record<string, string | string[]> {
  const kept = withoutHopByHop(trailers);
  for (const name of Object.keys(kept))
    if (settledBefore.has(name) || name.startsWith('if-') || name.startsWith(':') || isClaim(name)) delete kept[name];
  return kept;
}

/** Forwards trailers. If the client's HTTP version refuses one, all are left out, since none is essential. */
export function addTrailers(response: GatewayResponse, trailers: RequestHeaders): void {
  const kept = forwardedTrailers(trailers);
  if (Object.keys(kept).length === 0) return;
  try {
    response.addTrailers?.(kept);
  } catch {
    // A value contains bytes that HTTP/1.1 and HTTP/2 do not allow.
  }
}
