import type { NativeModule, RelayedSession, WebTransportRequest } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import type { Sessions } from '../front/service.js';
import { forwardedHeaders } from '../../http/forwarded_headers.js';
import { formatAddress } from '../../values/listen_error.js';
import type { SessionObserver } from '../../targets/webtransport/session_server.js';
import { GatewayUnreachable, type GatewayConnection } from '../uplink/gateway_connection.js';

export interface SessionForwarderOptions {
  module: Pick<NativeModule, 'relayWebTransport'>;
  gateway: GatewayConnection;
  observer: SessionObserver;
  log: Logger;
}

/** Label in log and metrics in place of a route, since an edge has none */
const route = '/';

/** Proxies WebTransport sessions to the gateway, which decides whether to accept them. */
export class SessionForwarder implements Sessions {
  readonly #options: SessionForwarderOptions;
  readonly #open = new Set<RelayedSession>();

  constructor(options: SessionForwarderOptions) {
    this.#options = options;
  }

  get openSessions(): number {
    return this.#open.size;
  }

  drain(): void {
    for (const session of this.#open) session.drain();
  }

  close(): void {
    for (const session of this.#open) session.close(0, 'edge is stopping');
  }

  async forward(request: WebTransportRequest): Promise<void> {
    const { observer, log } = this.#options;
    const remoteAddress = formatAddress(request.remoteAddress);
    const session = await this.#relay(request).catch((error: unknown) => {
      const status = statusFor(error);
      request.reject(status);
      observer.sessionRefused({ path: request.url, status, remoteAddress });
      if (status >= 500) log.warn({ error: errorMessage(error) }, 'session failed on its way to the gateway');
      return undefined;
    });
    if (!session) return;
    const started = performance.now();
    this.#open.add(session);
    observer.sessionStarted(route);
    const { closeCode, reason } = await session.closed;
    this.#open.delete(session);
    observer.sessionEnded({
      route,
      path: request.url,
      remoteAddress,
      seconds: (performance.now() - started) / 1_000,
      closeCode,
      reason,
    });
  }

  /**
   * Opens a session at the gateway. If the connection was lost meanwhile, tries once more on a new one, since nothing
   * of the session has happened yet.
   */
  async #relay(request: WebTransportRequest): Promise<RelayedSession> {
    const { gateway, module } = this.#options;
    const { authority, headers } = request;
    const forwarded = forwardedHeaders({
      headers,
      authority,
      scheme: 'https',
      httpVersion: '3',
      remoteAddress: request.remoteAddress.address,
      early: false,
    });
    for (let attempt = 0; ; attempt++) {
      const client = await gateway.open();
      try {
        return await module.relayWebTransport(request, client, forwarded);
      } catch (error) {
        if (systemErrorCode(error) !== 'CONNECTION_CLOSED') throw error;
        gateway.retire(client);
        if (attempt > 0) throw error;
      }
    }
  }
}

/** Returns the status that the gateway answered, or one for the reason why it did not. */
function statusFor(error: unknown): number {
  if (error instanceof GatewayUnreachable && error.timeout) return 504;
  const { code, errorCode } = error as { code?: unknown; errorCode?: unknown };
  return code === 'SESSION_REFUSED' && typeof errorCode === 'number' && errorCode >= 300 && errorCode <= 599
    ? errorCode
    : 502;
}
