import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { StreamPriority } from '@sheaf/web-client/protocol';
import type { GatewayRequest, HttpVersion, RequestHeaders } from './exchange.js';

/** Converts a request of HTTP/1.0, HTTP/1.1 or HTTP/2. `client.address` replaces the socket's address. */
export function fromNodeRequest(
  request: IncomingMessage | Http2ServerRequest,
  client: { scheme: 'https' | 'http'; address?: string | undefined },
  { priority, confirm }: { priority?: StreamPriority | undefined; confirm?: (() => void) | undefined } = {},
): GatewayRequest {
  const isHttp2 = request.httpVersionMajor === 2;
  return {
    method: request.method ?? 'GET',
    url: request.url ?? '/',
    headers: isHttp2 ? withoutPseudoHeaders(request.headers) : request.headers,
    authority: (isHttp2 ? (request as Http2ServerRequest).authority : undefined) ?? request.headers.host ?? '',
    scheme: client.scheme,
    httpVersion: isHttp2 ? '2' : (request.httpVersion as HttpVersion),
    remoteAddress: client.address ?? request.socket.remoteAddress ?? '',
    early: false,
    ...(isHttp2 && http2Parts(request as Http2ServerRequest)),
    ...(priority && { priority }),
    ...(confirm && { confirm }),
    trailers: () => (isHttp2 ? withoutPseudoHeaders(request.trailers) : request.trailers),
    body: request,
  };
}

function http2Parts({ stream }: Http2ServerRequest): Pick<GatewayRequest, 'bodyless' | 'carrier'> {
  return { bodyless: stream.endAfterHeaders, ...(stream.session && { carrier: stream.session }) };
}

function withoutPseudoHeaders(headers: RequestHeaders): RequestHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':')));
}
