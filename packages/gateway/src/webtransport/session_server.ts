import { randomBytes } from 'node:crypto';
import type { ReadableStream } from 'node:stream/web';
import type { Http3Server as NativeServer } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage, UserError } from '../errors/user_error.js';
import { parseRequestTarget } from '../http/request_target.js';
import { findRoute, type Route } from '../routing/router.js';
import type { WebTransportApplication, WebTransportSession } from './session.js';

/** What answers sessions, and who may open them. */
export interface SessionTarget {
  application: WebTransportApplication;
  isOriginAllowed(origin: string | undefined, authority: string): boolean;
}

export interface SessionObserver {
  sessionStarted(route: string): void;
  sessionEnded(record: { route: string; path: string; remoteAddress: string; seconds: number; closeCode: number | undefined; reason: string }): void;
  sessionRefused(record: { path: string; status: number; remoteAddress: string }): void;
}

export interface SessionServerOptions {
  native: NativeServer;
  routes: readonly Route<SessionTarget>[];
  observer: SessionObserver;
  log: Logger;
}

interface SessionHeader {
  ':path'?: string;
  ':authority'?: string;
  host?: string;
  origin?: string;
}

/** The members of @fails-components/webtransport's `Http3Server` that are used here. */
interface LibraryServer {
  startServer(): void;
  stopServer(): void;
  ready: Promise<unknown>;
  setRequestCallback(callback: (request: { header: SessionHeader; peerAddress?: string }) => Promise<SessionAnswer>): void;
  sessionStream(path: string, options: { noAutoPaths: boolean }): ReadableStream<LibrarySession>;
}

interface Library {
  Http3Server: new (options: object) => LibraryServer;
  quicheLoaded: Promise<unknown>;
}

type LibrarySession = WebTransportSession & { userData: SessionData; peerAddress?: string };

interface SessionData {
  route: Route<SessionTarget>;
  url: string;
  authority: string;
  origin: string | undefined;
}

interface SessionAnswer {
  status: number;
  path: string;
  userData?: SessionData;
}

/** All sessions come out of one stream of the library; the route travels in their `userData`. */
const sessionsPath = '/sheaf-sessions';

/**
 * WebTransport sessions by way of @fails-components/webtransport, on the UDP port of the native
 * server. The library finds our transport in the place of its own.
 */
export class SessionServer {
  readonly #options: SessionServerOptions;
  readonly #server: LibraryServer;
  readonly #open = new Set<LibrarySession>();

  private constructor(options: SessionServerOptions, server: LibraryServer) {
    this.#options = options;
    this.#server = server;
  }

  static async start(options: SessionServerOptions): Promise<SessionServer> {
    const { Http3Server } = await loadLibrary();
    const server = new Http3Server({
      sheafServer: options.native,
      // The library insists on these; our transport takes them from the native server.
      port: 0,
      host: '',
      cert: '',
      privKey: '',
      secret: randomBytes(16).toString('hex'),
    });
    const sessions = new SessionServer(options, server);
    server.setRequestCallback((request) => Promise.resolve(sessions.#answer(request)));
    void sessions.#accept(server.sessionStream(sessionsPath, { noAutoPaths: true }));
    server.startServer();
    await server.ready;
    return sessions;
  }

  get openSessions(): number {
    return this.#open.size;
  }

  /** Tells every session to come to an end; they may finish what they are doing. */
  drain(): void {
    for (const session of this.#open) {
      try {
        session.notifySessionDraining();
      } catch {
        // The library throws for a session that has just been lost.
      }
    }
  }

  close(): void {
    for (const session of this.#open) session.close({ closeCode: 0, reason: 'gateway is stopping' });
    this.#server.stopServer();
  }

  #answer({ header, peerAddress }: { header: SessionHeader; peerAddress?: string }): SessionAnswer {
    const url = header[':path'] ?? '/';
    const authority = header[':authority'] ?? header.host ?? '';
    const refuse = (status: number): SessionAnswer => {
      this.#options.observer.sessionRefused({ path: url, status, remoteAddress: peerAddress ?? '' });
      return { status, path: sessionsPath };
    };
    const pathname = parseRequestTarget(url)?.routed;
    if (pathname === undefined) return refuse(400);
    const match = findRoute(this.#options.routes, { host: authority, pathname, method: 'CONNECT' });
    if (!match.found) return refuse(match.ambiguous ? 400 : 404);
    if (!match.route.answer.isOriginAllowed(header.origin, authority)) return refuse(403);
    return { status: 200, path: sessionsPath, userData: { route: match.route, url, authority, origin: header.origin } };
  }

  async #accept(sessions: ReadableStream<LibrarySession>): Promise<void> {
    for await (const session of sessions) void this.#run(session);
  }

  async #run(session: LibrarySession): Promise<void> {
    const { route, url, authority, origin } = session.userData;
    const { observer, log } = this.#options;
    const remoteAddress = session.peerAddress ?? '';
    const started = performance.now();
    this.#open.add(session);
    observer.sessionStarted(route.label);
    const ended = session.closed.catch((error: unknown) => ({ closeCode: undefined, reason: errorMessage(error) }));
    try {
      await session.ready;
      await route.answer.application(session, { url, authority, origin, remoteAddress, log });
    } catch (error) {
      log.error({ err: error, route: route.label }, 'WebTransport application failed');
      session.close({ closeCode: 1, reason: 'application failed' });
    }
    const { closeCode, reason } = await ended;
    this.#open.delete(session);
    const seconds = (performance.now() - started) / 1_000;
    observer.sessionEnded({ route: route.label, path: url, remoteAddress, seconds, closeCode, reason });
  }
}

const transportRegistration: string = '@sheaf/native/register';

async function loadLibrary(): Promise<Library> {
  try {
    // Makes the library's import of its HTTP/3 transport resolve to ours.
    await import(transportRegistration);
    const library = (await import('@fails-components/webtransport')) as unknown as Library;
    await library.quicheLoaded;
    return library;
  } catch (error) {
    throw new UserError('TRANSPORT_UNAVAILABLE', `WebTransport cannot be loaded: ${errorMessage(error)}`, {
      hint: 'run `npm run setup`',
      cause: error,
    });
  }
}
