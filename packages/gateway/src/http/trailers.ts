import type { GatewayResponse, RequestHeaders } from './exchange.js';
import { isClaim, withoutHopByHop } from './forwarded_headers.js';

/** RFC 9110 §6.5.1: framing, routing, authentication and how to read the body are settled before it comes. */
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

/** What may be passed on of the fields behind a body. */
export function forwardedTrailers(trailers: RequestHeaders): Record<string, string | string[]> {
  const kept = withoutHopByHop(trailers);
  for (const name of Object.keys(kept))
    if (settledBefore.has(name) || name.startsWith('if-') || name.startsWith(':') || isClaim(name)) delete kept[name];
  return kept;
}

/** Passes the fields behind a body on. One that the client's version refuses is left out with the others: none is needed. */
export function addTrailers(response: GatewayResponse, trailers: RequestHeaders): void {
  const kept = forwardedTrailers(trailers);
  if (Object.keys(kept).length === 0) return;
  try {
    response.addTrailers?.(kept);
  } catch {
    // A value with bytes that HTTP/2 and HTTP/1.1 do not allow.
  }
}
