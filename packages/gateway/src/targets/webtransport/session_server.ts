import type { Http3Server, WebTransportRequest, WebTransportSession } from '@sheaf/native';
import type { Logger } from 'pino';
import { formatAddress } from '../../values/listen_error.js';
import { isForwarded } from '../../http/forwarded_headers.js';
import { parseRequestTarget } from '../../http/request_target.js';
import { findRoute, type Route } from '../../http/router.js';
import type { LoadedApplication } from './application.js';
import { ApplicationRun } from './application_run.js';
import { choiceHeader, chooseProtocol, offerHeader } from './offered_protocols.js';
import type { WebTransportContext } from './session.js';

/** The application of a route for sessions, and who may open them */
export interface SessionTarget {
  application: LoadedApplication;
  /** Protocols of which a client has to offer one; without them, any client may open a session. */
  protocols?: readonly string[];
  isOriginAllowed(origin: string | undefined, authority: string): boolean;
}

export interface SessionRecord {
  route: string;
  path: string;
  remoteAddress: string;
  seconds: number;
  closeCode: number | undefined;
  reason: string;
  /** Received datagrams that were dropped because the application did not read them */
  datagramsDropped?: number;
}

export interface SessionObserver {
  sessionStarted(route: string): void;
  sessionEnded(record: SessionRecord): void;
  sessionRefused(record: { path: string; status: number; remoteAddress: string }): void;
  /**
   * Notes that an application threw, rejected, or left a stray error behind. This may happen more than once per
   * session.
   */
  applicationFailed(route: string): void;
}

export interface SessionServerOptions {
  native: Http3Server;
  /** Returns the routes for a session that is asked for now. */
  routes: () => readonly Route<SessionTarget>[];
  /** Answers requests without a route. Default: they are refused. */
  otherwise?: (request: WebTransportRequest) => void;
  observer: SessionObserver;
  log: Logger;
}

/** Accepts WebTransport sessions on the UDP port of the native server, and passes them to their applications. */
export class SessionServer {
  readonly #options: SessionServerOptions;
  readonly #open = new Set<WebTransportSession>();
  readonly #onRequest = (request: WebTransportRequest): void => this.#answer(request);

  constructor(options: SessionServerOptions) {
    this.#options = options;
    options.native.on('webtransport', this.#onRequest);
  }

  get openSessions(): number {
    return this.#open.size;
  }

  /** Asks every session to end. Sessions may finish their work. */
  drain(): void {
    for (const session of this.#open) session.notifySessionDraining();
  }

  close(): void {
    this.#options.native.off('webtransport', this.#onRequest);
    for (const session of this.#open) session.close({ closeCode: 0, reason: 'gateway is stopping' });
  }

  #answer(request: WebTransportRequest): void {
    const { url, authority, origin } = request;
    const remoteAddress = formatAddress(request.remoteAddress);
    const refuse = (status: number): void => {
      request.reject(status);
      this.#options.observer.sessionRefused({ path: url, status, remoteAddress });
    };
    const { routes, otherwise } = this.#options;
    const pathname = parseRequestTarget(url)?.routed;
    const match = pathname !== undefined && findRoute(routes(), { host: authority, pathname, method: 'CONNECT' });
    if (otherwise && !(match && match.found)) return otherwise(request);
    if (!match) return refuse(400);
    if (!match.found) return refuse(match.ambiguous ? 400 : 404);
    if (!match.route.answer.isOriginAllowed(origin, authority)) return refuse(403);
    const { protocols } = match.route.answer;
    const protocol = chooseProtocol(protocols, request.headers[offerHeader]);
    if (protocols && protocol === undefined) return refuse(406);
    const session = request.accept(protocol === undefined ? {} : { [choiceHeader]: `"${protocol}"` });
    const forwarded = isForwarded(request.headers);
    void this.#run(session, match.route, { url, authority, origin, remoteAddress, forwarded, log: this.#options.log });
  }

  async #run(
    session: WebTransportSession,
    { answer: { application }, label: route }: Route<SessionTarget>,
    context: WebTransportContext,
  ): Promise<void> {
    const { observer } = this.#options;
    const started = performance.now();
    this.#open.add(session);
    observer.sessionStarted(route);
    void new ApplicationRun({
      application,
      session,
      context,
      route,
      onFailure: () => observer.applicationFailed(route),
    }).start();
    const { closeCode, reason } = await session.closed;
    this.#open.delete(session);
    const seconds = (performance.now() - started) / 1_000;
    const { dropped } = session.datagrams.counts();
    const { url: path, remoteAddress } = context;
    observer.sessionEnded({
      route,
      path,
      remoteAddress,
      seconds,
      closeCode,
      reason,
      ...(dropped > 0 && { datagramsDropped: dropped }),
    });
  }
}
