import { PRIORITY_HEADER } from '@sheaf/web-client/protocol';
import type { TraceFields } from './request_trace.js';
import { headerValue, type GatewayRequest, type RequestHeaders } from './exchange.js';

/** Fields that describe one connection and are never forwarded (RFC 9110 §7.6.1) */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'alt-svc',
  // Between a gateway and its backends alone (docs/internals/direct-return.md)
  'sheaf-grant',
  'sheaf-accepted',
  'sheaf-declined',
  // Of the gateway that a client is connected to
  'sheaf-routes',
]);

/**
 * Fields by which a client could claim another address, another URL or a certificate. The gateway itself tells where a
 * request comes from.
 */
const claimedByClient = new Set([
  'forwarded',
  'x-real-ip',
  'x-real-port',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'x-envoy-external-address',
  'x-scheme',
  'x-rewrite-url',
  // RFC 9440 §2: only the server that terminates TLS may set these fields.
  'client-cert',
  'client-cert-chain',
  'early-data',
  PRIORITY_HEADER,
]);

/**
 * Fields that must not arrive with `_` for `-`: servers that pass fields as environment variables cannot tell the two
 * apart (RFC 3875 §4.1.18).
 */
const confusable = new Set(['host', 'via', 'cookie', 'content-length', 'content-type', 'authorization', 'expect']);

/** Returns whether only the gateway may send this field to the next server. */
export function isClaim(name: string): boolean {
  const meant = name.includes('_') ? name.replaceAll('_', '-') : name;
  if (claimedByClient.has(meant) || meant.startsWith('x-forwarded-') || meant.startsWith('x-original-')) return true;
  return meant !== name && (confusable.has(meant) || hopByHop.has(meant));
}

/** The facts about a request that the next server is told beside the client's own headers */
type Forwarded = Pick<GatewayRequest, 'headers' | 'authority' | 'remoteAddress' | 'scheme' | 'httpVersion' | 'early'>;

/** Returns the headers for the next server. `trace` replaces what the client told about its trace. */
export function forwardedHeaders(request: Forwarded, trace?: TraceFields): Record<string, string | string[]> {
  const headers = fieldsOf(request.headers, trace ? isOwnWithTrace : isOwn);
  if (trace) Object.assign(headers, trace);
  if (takesTrailers(request)) headers['te'] = 'trailers';
  headers['host'] = request.authority;
  headers['x-forwarded-for'] = request.remoteAddress;
  headers['x-forwarded-proto'] = request.scheme;
  headers['x-forwarded-host'] = request.authority;
  headers['via'] = appendVia(headerValue(request.headers, 'via'), request.httpVersion);
  // RFC 8470 §5.1: with this field, the upstream can refuse a possible replay with 425.
  if (request.early) headers['early-data'] = '1';
  // HTTP/2 and HTTP/3 may split one cookie header into several (RFC 9113 §8.2.3).
  if (Array.isArray(headers['cookie'])) headers['cookie'] = headers['cookie'].join('; ');
  return headers;
}

/**
 * Returns whether to ask for trailers (RFC 9110 §10.1.4): the gateway forwards them, so it may ask if its client does.
 * HTTP/1.1 also names the field in `connection`.
 */
function takesTrailers({ headers, httpVersion }: Forwarded): boolean {
  if (headers['te'] === undefined) return false;
  const listed = (name: string): string[] =>
    (headerValue(headers, name) ?? '')
      .toLowerCase()
      .split(',')
      .map((item) => item.trim());
  return listed('te').includes('trailers') && (Number(httpVersion) >= 2 || listed('connection').includes('te'));
}

/**
 * Returns whether the gateway tells the next server itself. It answers an expectation once that server takes the body, since
 * undici does not forward one.
 */
const isOwn = (name: string): boolean => name === 'expect' || isClaim(name);

const isOwnWithTrace = (name: string): boolean => name === 'traceparent' || name === 'tracestate' || isOwn(name);

/** Returns whether a proxy passed a request on. A client that only claims this gains nothing. */
export function isForwarded(headers: RequestHeaders): boolean {
  return ['via', 'forwarded', 'x-forwarded-for'].some((name) => headers[name] !== undefined);
}

/** Returns the headers without the fields that describe only the connection. */
export function withoutHopByHop(headers: RequestHeaders): Record<string, string | string[]> {
  return fieldsOf(headers, () => false);
}

/** Makes one object without deletions, which would make each later access slow. */
function fieldsOf(headers: RequestHeaders, isLeftOut: (name: string) => boolean): Record<string, string | string[]> {
  const named = namedByConnection(headers);
  const kept: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !hopByHop.has(name) && !named?.has(name) && !isLeftOut(name)) kept[name] = value;
  }
  return kept;
}

/** Returns the fields that belong to one connection because it says so, if it says anything. */
function namedByConnection(headers: RequestHeaders): Set<string> | undefined {
  const connection = headerValue(headers, 'connection');
  if (connection === undefined) return undefined;
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

function appendVia(via: string | undefined, version: string): string {
  return via === undefined ? `${version} sheaf` : `${via}, ${version} sheaf`;
}
