import type { ServerRequest } from '@sheaf/native';
import { PRIORITY_HEADER, parsePriorityHeader } from '@sheaf/web-client/protocol';
import { headerValue, type GatewayRequest } from './exchange.js';

/** A request that another node of the site carried here: what it says of the client is true. */
export function fromBackboneRequest(request: ServerRequest): GatewayRequest {
  const carried = fromQuicRequest(request);
  const client = headerValue(request.headers, 'x-forwarded-for');
  return { ...carried, scheme: headerValue(request.headers, 'x-forwarded-proto') === 'http' ? 'http' : 'https', ...(client === undefined ? {} : { remoteAddress: client }) };
}

/** A request of HTTP/3 or HTTP/0.9 over QUIC in the gateway's form. */
export function fromQuicRequest(request: ServerRequest): GatewayRequest {
  const priority = parsePriorityHeader(headerValue(request.headers, PRIORITY_HEADER));
  return {
    method: request.method,
    url: request.url,
    headers: request.headers,
    authority: request.authority,
    scheme: request.scheme === 'http' ? 'http' : 'https',
    httpVersion: request.httpVersion,
    remoteAddress: request.remoteAddress.address,
    early: request.early,
    connection: request.connection,
    carrier: request.connection,
    ...(priority && { priority }),
    body: request,
  };
}
