import type { Http3Client } from '@sheaf/native';
import { RESPONSE_HEADER } from '@sheaf/web-client/protocol';
import type { Logger } from 'pino';
import { errorMessage } from '../../errors/user_error.js';
import { answerWith, checkStatus, lostConnection, mayProxyAgain, requestOf } from '../../http/proxied_request.js';
import type { Exchange, Target } from '../../http/exchange.js';
import { ReceivedBody, respondBodyFault } from '../../http/received_body.js';
import { refuseReplay } from '../../http/refuse_replay.js';
import { respondStatus, respondText } from '../../http/respond.js';
import { SlowClients } from '../../slow_clients/slow_clients.js';
import { GatewayUnreachable, type GatewayConnection } from '../uplink/gateway_connection.js';
import type { GatewayBackends } from './gateway_backends.js';
import type { ResponseReports } from './response_reports.js';

/** Maximum of responses that wait for slow clients */
export const maxUnread = 12;

export interface ForwarderOptions {
  gateway: GatewayConnection;
  backends: GatewayBackends;
  log: Logger;
  /** Remembers which server sent each response. */
  reports: ResponseReports | undefined;
}

/**
 * Proxies requests to the gateway or to one of its backends, each on a stream of the one connection. Both directions
 * stream.
 */
export class Forwarder implements Target {
  readonly #options: ForwarderOptions;
  /**
   * Bounds unread responses. All responses share the credit of the connection to the gateway (RFC 9000 §4.1), and each
   * may hold a stream's window.
   */
  readonly #unread = new SlowClients({ most: maxUnread });

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  async handle(exchange: Exchange): Promise<void> {
    const { gateway, backends, log, reports } = this.#options;
    const { request } = exchange;
    if (refuseReplay(exchange)) return;
    const body = new ReceivedBody(exchange);
    for (let attempt = 0; ; attempt++) {
      const report = reports?.add();
      let client: Http3Client | undefined;
      let answered = false;
      try {
        client = await gateway.open();
        if (exchange.aborted) return;
        exchange.trace?.passOn(gateway.server);
        const response = await backends
          .of(client)
          .request(requestOf(exchange, exchange.signal, await body.open()), report);
        checkStatus(response);
        if (report) response.headers[RESPONSE_HEADER] = String(report.id);
        answered = true;
        this.#unread.add(exchange);
        await answerWith(exchange, response);
        return;
      } catch (error) {
        if (exchange.aborted) return;
        exchange.trace?.failed(error);
        const lost = client !== undefined && lostConnection(error);
        if (client && lost) gateway.retire(client);
        if (answered) {
          // The reset tells the client that the body is incomplete.
          exchange.response.destroy(error as Error);
          return;
        }
        if (respondBodyFault(exchange, error)) return;
        if (attempt === 0 && lost && mayProxyAgain(request, body, error)) continue;
        log.warn({ error: errorMessage(error), path: exchange.pathname }, 'request failed on its way to the gateway');
        respondUnreachable(exchange, error, gateway.status().address);
        return;
      } finally {
        report?.end();
        this.#unread.delete(exchange);
      }
    }
  }
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
<p>This edge got no response from its gateway ${escapeHtml(gateway)}: ${escapeHtml(errorMessage(error))}.</p>
<p>The next request tries again. <code>sheaf status</code> shows the connection and its paths.</p>
</html>
`;
  respondText(exchange, status, page, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': '1',
  });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
