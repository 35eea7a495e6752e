import type { ServerRequest, ServerResponse } from '@sheaf/native';
import { PRIORITY_HEADER, parsePriorityHeader } from '@sheaf/web-client/protocol';
import { expectsContinue, headerValue, type GatewayRequest } from './exchange.js';

/** Converts a request that another node of the site proxied. The node's fields about the client are trusted. */
export function fromBackboneRequest(request: ServerRequest, response: ServerResponse): GatewayRequest {
  const proxied = fromQuicRequest(request, response);
  const client = headerValue(request.headers, 'x-forwarded-for');
  return {
    ...proxied,
    passedOn: true,
    scheme: headerValue(request.headers, 'x-forwarded-proto') === 'http' ? 'http' : 'https',
    ...(client === undefined ? {} : { remoteAddress: client }),
  };
}

/** Converts a request of HTTP/3, or of HTTP/0.9 over QUIC. */
export function fromQuicRequest(request: ServerRequest, response: ServerResponse): GatewayRequest {
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
    handedOver: 'receivePrimaryMessage' in request.connection,
    carrier: request.connection,
    ...(priority && { priority }),
    ...(expectsContinue(request.headers) && { confirm: () => response.writeInformational(100) }),
    ...(request.protocol === undefined ? {} : { protocol: request.protocol }),
    trailers: () => request.trailers,
    body: request,
  };
}
