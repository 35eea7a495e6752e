import type { Attributes } from '@opentelemetry/api';
import { headerValue, type GatewayRequest } from '../http/exchange.js';
import type { NextServer, TracedOutcome } from '../http/request_trace.js';

/** Clients choose these texts, and may choose long ones. */
const maxText = 1_024;
const bounded = (text: string): string => text.slice(0, maxText);

/** Methods of RFC 9110 §9 and RFC 5789; the semantic conventions call all others `_OTHER`. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

/** Returns the method for the name of a span. */
export const spanMethod = (method: string): string => (knownMethods.has(method) ? method : 'HTTP');

function methodAttributes(method: string): Attributes {
  if (knownMethods.has(method)) return { 'http.request.method': method };
  return { 'http.request.method': '_OTHER', 'http.request.method_original': bounded(method) };
}

/** Returns what is known of a request at its start. The query is left out, since it may contain secrets. */
export function requestAttributes(request: GatewayRequest, pathname: string): Attributes {
  const [, host, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(request.authority) ?? [];
  const agent = headerValue(request.headers, 'user-agent');
  return {
    ...methodAttributes(request.method),
    'url.scheme': request.scheme,
    'url.path': bounded(pathname),
    'network.protocol.name': 'http',
    'network.protocol.version': request.httpVersion,
    'client.address': request.remoteAddress,
    ...(request.peerAddress === undefined ? {} : { 'network.peer.address': request.peerAddress }),
    ...(host ? { 'server.address': bounded(host) } : {}),
    ...(port === undefined ? {} : { 'server.port': Number(port) }),
    ...(agent === undefined ? {} : { 'user_agent.original': bounded(agent) }),
  };
}

/** Returns what is known of a request at its end. */
export function outcomeAttributes({ route, status, bytesSent, delivered, aborted }: TracedOutcome): Attributes {
  return {
    'http.route': route,
    'http.response.status_code': status,
    'http.response.body.size': bytesSent,
    ...(delivered ? { 'sheaf.delivery': delivered.delivery } : {}),
    ...(delivered?.backend === undefined ? {} : { 'sheaf.backend': delivered.backend }),
    ...(aborted ? { 'sheaf.aborted': true } : {}),
  };
}

/** Returns what is known of a request that is passed on. */
export function passedOnAttributes(server: NextServer, method: string, pathname: string): Attributes {
  const { name, scheme, address, port, httpVersion } = server;
  const host = address.includes(':') ? `[${address}]` : address;
  return {
    ...methodAttributes(method),
    'url.full': bounded(`${scheme}://${host}:${port}${pathname}`),
    'server.address': address,
    'server.port': port,
    'network.protocol.name': 'http',
    'network.protocol.version': httpVersion,
    'sheaf.server': name,
  };
}
