import type { Logger } from 'pino';
import type { Delivered } from '../http/delivered.js';
import type { RequestObserver, RequestRecord } from '../http/request_handler.js';
import type { RequestTrace } from '../http/request_trace.js';
import { parseUrgency } from '@sheaf/web-client/protocol';
import { headerValue, type GatewayRequest } from '../http/exchange.js';
import type { SessionObserver } from '../targets/webtransport/session_server.js';

/** Writes one line per request and per session. Leaves out the query, which may contain secrets. */
export function accessLog(log: Logger): RequestObserver & SessionObserver {
  return {
    requestStarted: () => undefined,
    requestEnded(record) {
      if (log.isLevelEnabled('info')) log.info(requestLine(record), 'request');
    },
    sessionStarted: () => undefined,
    sessionEnded: ({ seconds, path, ...record }) =>
      log.info({ ...record, path: withoutQuery(path), ms: milliseconds(seconds) }, 'webtransport session'),
    applicationFailed: () => undefined, // The caller knows more about the fault, and logs it.
    sessionRefused: ({ path, ...record }) =>
      log.info({ ...record, path: withoutQuery(path) }, 'webtransport session refused'),
  };
}

function requestLine({
  request,
  pathname,
  route,
  status,
  bytesSent,
  delivered,
  seconds,
  aborted,
  trace,
}: RequestRecord): object {
  return {
    remote: request.remoteAddress,
    http: request.httpVersion,
    ...(request.carriedBy === undefined ? {} : { via: request.carriedBy }),
    ...(request.connection === undefined ? {} : { connection: request.connection.id }),
    ...(request.destination ? { destination: request.destination } : {}),
    ...priorityOf(request),
    method: request.method,
    host: request.authority,
    path: pathname,
    route,
    status,
    bytes: bytesSent,
    ...deliveryOf(delivered),
    ms: milliseconds(seconds),
    ...(aborted ? { aborted } : {}),
    ...(trace ? traceOf(trace) : {}),
    agent: headerValue(request.headers, 'user-agent'),
  };
}

/** Returns the request's trace, and the one that an untrusted client named. */
function traceOf({ traceId, claimedTraceId }: RequestTrace): object {
  return { trace: traceId, ...(claimedTraceId === undefined ? {} : { claimed_trace: claimedTraceId }) };
}

function deliveryOf(delivered: Delivered | undefined): object {
  if (!delivered) return {};
  const { returnedBytes, ...rest } = delivered;
  return { ...rest, ...(returnedBytes === undefined ? {} : { returned_bytes: returnedBytes }) };
}

/** Returns the priority in one form, whether a page or a `priority` field told it. */
function priorityOf({ priority, headers }: GatewayRequest): object {
  if (priority) return { priority };
  const field = headerValue(headers, 'priority');
  return field === undefined ? {} : { priority: parseUrgency(field) };
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e3;
}

function withoutQuery(path: string): string {
  return path.split('?', 1)[0] ?? '';
}
