import type { Readable } from 'node:stream';
import type { CancelSignal, ClientRequestOptions, ClientResponse, WholeResponse } from '@sheaf/native';
import { PRIORITY_HEADER, formatPriorityHeader } from '@sheaf/web-client/protocol';
import { resetCode, systemErrorCode } from '../errors/user_error.js';
import type { Exchange, GatewayRequest } from './exchange.js';
import { forwardedHeaders, withoutHopByHop } from './forwarded_headers.js';
import { InterimRelay } from './interim_response.js';
import type { ReceivedBody } from './received_body.js';
import { mayRepeat } from './repeat.js';
import { sendBody, setHead } from './respond.js';
import { forwardedTrailers } from './trailers.js';

/** H3_REQUEST_REJECTED (RFC 9114 §8.1): the server has not processed the request. */
const H3_REQUEST_REJECTED = 0x10b;

/** Returns the request to send to another node over HTTP/3. `further`: headers that are added to it. */
export function requestOf(
  exchange: Exchange,
  signal: CancelSignal,
  body?: AsyncIterable<Buffer>,
  further?: Readonly<Record<string, string>>,
): ClientRequestOptions {
  const { request, pathname, search } = exchange;
  const interim = new InterimRelay(exchange);
  const headers = forwardedHeaders(request, exchange.trace?.fields);
  // Only the nodes of HTTP/2 clients have numbers for this connection. Numbers of other clients would collide in it.
  if (request.httpVersion === '2' && request.priority)
    headers[PRIORITY_HEADER] = formatPriorityHeader(request.priority);
  return {
    method: request.method,
    path: pathname + search,
    ...(request.authority === '' ? {} : { authority: request.authority }),
    headers: further ? Object.assign(headers, further) : headers,
    ...(body && { body, trailers: () => forwardedTrailers(request.trailers?.() ?? {}) }),
    onInformational: (status, headers) => void interim.pass(status, headers),
    signal,
  };
}

/** Throws if no HTTP server may send this status, before any of the response is forwarded. */
export function checkStatus(response: ClientResponse | WholeResponse): void {
  if (response.status >= 200 && response.status <= 599) return;
  if (!('whole' in response)) response.destroy();
  throw new Error(`it answered with the status ${response.status}`);
}

/** Forwards the response. `body` replaces its body. */
export async function answerWith(
  exchange: Exchange,
  response: ClientResponse,
  body: Readable = response,
): Promise<void> {
  setHead(exchange, response.status, withoutHopByHop(response.headers));
  await sendBody(exchange, body, () => response.trailers);
}

/** Returns whether the connection failed, so that another connection may do better. */
export function lostConnection(error: unknown): boolean {
  return ['CONNECTION_CLOSED', 'GOING_AWAY'].includes(systemErrorCode(error) ?? '') || wasRejected(error);
}

/** Returns whether the server rejected the request without processing it. */
export function wasRejected(error: unknown): boolean {
  return resetCode(error) === H3_REQUEST_REJECTED;
}

/** Returns whether a request to another node may be sent again. A body that was sent once is gone. */
export function mayProxyAgain(request: GatewayRequest, body: ReceivedBody, error: unknown): boolean {
  const failed = systemErrorCode(error) === 'GOING_AWAY' ? 'nothing' : wasRejected(error) ? 'unprocessed' : 'unknown';
  return mayRepeat(request.method, !body.exists, failed);
}
