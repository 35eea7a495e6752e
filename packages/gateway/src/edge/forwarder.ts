import type { ClientRequestOptions, Http3Client } from '@sheaf/native';
import { PRIORITY_HEADER, formatPriorityHeader } from '@sheaf/web-client/protocol';
import type { Logger } from 'pino';
import { errorMessage, systemErrorCode } from '../errors/user_error.js';
import type { Exchange, GatewayRequest, Target } from '../http/exchange.js';
import { forwardedHeaders, withoutHopByHop } from '../http/forwarded_headers.js';
import { hasBody } from '../http/limited_body.js';
import { isIdempotent, isSafe } from '../http/methods.js';
import { respondStatus, respondText, sendBody, setHead } from '../http/respond.js';
import { GatewayUnreachable, type GatewayConnection } from './gateway_connection.js';

/** RFC 9114 §8.1: the server has done nothing about the request. */
const H3_REQUEST_REJECTED = 0x10b;

/** Carries requests to the gateway, each on a stream of the one connection; both directions stream. */
export class Forwarder implements Target {
  readonly #gateway: GatewayConnection;
  readonly #log: Logger;

  constructor(gateway: GatewayConnection, log: Logger) {
    this.#gateway = gateway;
    this.#log = log;
  }

  async handle(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    // RFC 8470 §5.2: a replayed request must not change anything.
    if (request.early && !isSafe(request.method)) {
      respondStatus(exchange, 425);
      return;
    }
    for (let attempt = 0; ; attempt++) {
      let client: Http3Client | undefined;
      let answered = false;
      try {
        client = await this.#gateway.open();
        if (exchange.aborted) return;
        const response = await client.request(requestOf(exchange));
        if (response.status < 200 || response.status > 599) {
          response.destroy();
          throw new Error(`it answered with the status ${response.status}`);
        }
        answered = true;
        setHead(exchange, response.status, withoutHopByHop(response.headers));
        await sendBody(exchange, response);
        return;
      } catch (error) {
        if (exchange.aborted) return;
        const lost = client !== undefined && lostConnection(error);
        if (client && lost) this.#gateway.retire(client);
        if (answered) {
          // The client learns by a reset that the body is not complete.
          exchange.response.destroy(error as Error);
          return;
        }
        if (attempt === 0 && lost && mayRepeat(request, error)) continue;
        this.#log.warn({ error: errorMessage(error), path: exchange.pathname }, 'request failed on its way to the gateway');
        respondUnreachable(exchange, error, this.#gateway.status().address);
        return;
      }
    }
  }
}

function requestOf({ request, pathname, search, signal }: Exchange): ClientRequestOptions {
  return {
    method: request.method,
    path: pathname + search,
    ...(request.authority === '' ? {} : { authority: request.authority }),
    headers: {
      ...forwardedHeaders(request),
      // Nodes of HTTP/2 clients have been numbered for this connection; those of others would meet in it.
      ...(request.httpVersion === '2' && request.priority ? { [PRIORITY_HEADER]: formatPriorityHeader(request.priority) } : {}),
    },
    // A gateway that answers early does not take the rest of the body: what brings it still has to bring the answer.
    ...(hasBody(request) ? { body: request.body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer> } : {}),
    signal,
  };
}

/** Whether another connection may do better. */
function lostConnection(error: unknown): boolean {
  return ['CONNECTION_CLOSED', 'GOING_AWAY'].includes(systemErrorCode(error) ?? '') || wasRejected(error);
}

function wasRejected(error: unknown): boolean {
  return systemErrorCode(error) === 'STREAM_RESET' && (error as { errorCode?: number }).errorCode === H3_REQUEST_REJECTED;
}

/** A body that left once is gone. */
function mayRepeat(request: GatewayRequest, error: unknown): boolean {
  if (systemErrorCode(error) === 'GOING_AWAY') return true;
  return !hasBody(request) && (isIdempotent(request.method) || wasRejected(error));
}

function respondUnreachable(exchange: Exchange, error: unknown, gateway: string): void {
  const late = error instanceof GatewayUnreachable && error.timeout;
  const status = late ? 504 : 502;
  if (exchange.request.httpVersion === '0.9') {
    respondStatus(exchange, status);
    return;
  }
  const title = late ? '504 Gateway Timeout' : '502 Bad Gateway';
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<h1>${title}</h1>
<p>This edge got no answer from its gateway ${escapeHtml(gateway)}: ${escapeHtml(errorMessage(error))}.</p>
<p>The next request tries again. <code>sheaf status</code> shows the connection and its paths.</p>
</html>
`;
  respondText(exchange, status, page, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'retry-after': '1' });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
