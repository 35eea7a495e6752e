import { once } from 'node:events';
import { closeSync } from 'node:fs';
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import { createServer } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { limitUnsent, type CertificatePair } from '@sheaf/native';
import type { StreamPriority } from '@sheaf/web-client/protocol';
import type { ListenAddress } from '../values/scalars.js';
import { headerValue } from '../http/exchange.js';
import { fromNodeRequest } from '../http/node_request.js';
import { fromNodeResponse } from '../http/node_response.js';
import type { RequestHandler } from '../http/request_handler.js';
import type { FrontLimits } from '../schema/front.js';
import { TcpClients } from './tcp_clients.js';
import type { TrustedProxies } from '../http/trusted_proxies.js';
import { endMalformed } from './client_error.js';
import { HandshakePacer } from './handshake_pacer.js';
import { sessionLimits, watchSession } from './http2_session.js';
import { Http2Tree, NodeNumbers } from './http2_tree.js';
import { hasOneHost } from './one_host.js';
import { StreamTaking } from './stream_taking.js';
import type { StreamTakers } from '../http/taken_stream.js';
import { upgradingMessage } from './upgrading_message.js';
import type { Counts } from '../values/counts.js';
import type { Networks } from '../values/networks.js';
import { longestTimerMs } from '../values/timers.js';
import { ProxyProtocol } from './proxy_protocol.js';

/** Time that a client has to send the headers of a request */
const headersTimeoutMs = 10_000;
/**
 * Maximum of open streams of an HTTP/2 client (RFC 9113 §6.5.2 recommends at least 100). Each costs JavaScript some 25
 * KB.
 */
const maxHttp2Streams = 128;
/** Memory of one HTTP/2 session in MB, as Node counts it: headers, waiting frames and unsent data */
const sessionMemory = 8;
/** Unsent bytes that the kernel holds for a client, beyond those in flight */
const unsentBytes = 128 * 1024;

/** A socket that listens already. Its listener closes the descriptor. */
export interface ListeningSocket {
  descriptor: number;
  port: number;
  /** Connections wait in the socket until this resolves; absent: they are accepted at once. */
  begins?: Promise<void> | undefined;
}

export interface TcpListenerOptions {
  address: ListenAddress;
  /** Default: the listener opens one. */
  socket?: ListeningSocket | undefined;
  handler: RequestHandler;
  limits: FrontLimits;
  /** Counts its connections and handshakes together with those of other threads at this address. Default: this listener alone */
  counts?: Counts;
  /** Threads at this address, among which the turns of new connections are divided. Default: 1 */
  workers?: number;
  /** Absent for HTTP/1.1 without TLS */
  certificate?: CertificatePair;
  /** Oldest allowed version of TLS; default: 1.3 */
  minimumTls?: '1.2' | '1.3' | undefined;
  /** Balancers whose connections begin with a header of the PROXY protocol */
  balancers?: Networks | undefined;
  /** Finds the client behind trusted proxies. */
  proxies?: TrustedProxies | undefined;
  /** Answer requests that take their streams over: CONNECT, extended CONNECT of HTTP/2, and Upgrade. */
  takers?: StreamTakers | undefined;
  /** Returns the value of Alt-Svc (RFC 7838) once it is known. */
  altSvc?: () => string | undefined;
}

/** Listens on one TCP port: for HTTP/1.1 and HTTP/2, or without TLS for HTTP/1.1 alone. */
export class TcpListener {
  readonly #options: TcpListenerOptions;
  readonly #server: HttpServer | Http2SecureServer;
  /** TCP connections, including those with a pending TLS handshake */
  readonly #connections = new Set<Socket>();
  /** Connections that can carry requests */
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #trees = new WeakMap<ServerHttp2Session, Http2Tree>();
  readonly #nodeNumbers = new NodeNumbers();
  readonly #proxyProtocol: ProxyProtocol | undefined;
  readonly #clients: TcpClients;
  #draining = false;
  /** Resolves when the server listens no more, and all its connections have ended */
  #closed: Promise<unknown> | undefined;
  #ticketKeys: Buffer | undefined;

  constructor(options: TcpListenerOptions) {
    this.#options = options;
    const { limits, certificate, takers } = options;
    const messages = takers && upgradingMessage(takers);
    const streams = Math.min(limits.streams, maxHttp2Streams);
    this.#server = certificate
      ? createSecureServer({
          allowHTTP1: true,
          handshakeTimeout: headersTimeoutMs,
          ...sessionLimits,
          ...secureContext(certificate, options.minimumTls),
          settings: {
            maxConcurrentStreams: streams,
            maxHeaderListSize: limits.header_size,
          },
          ...(messages && { Http1IncomingMessage: messages }),
          maxSessionMemory: sessionMemory,
        })
      : createServer(messages ? { IncomingMessage: messages } : {});
    // HTTP/2 servers take the options of HTTP/1.1 only as properties.
    Object.assign(this.#server, {
      maxHeaderSize: limits.header_size,
      // The size of the fields is limited instead. Beyond a maximum count, Node would drop fields silently.
      maxHeadersCount: 0,
      headersTimeout: headersTimeoutMs,
      // A body may take any time while it makes progress, which slow_clients/slow_clients.ts watches.
      requestTimeout: 0,
      connectionsCheckingInterval: headersTimeoutMs / 2,
      keepAliveTimeout: limits.idle,
    });

    this.#server.maxConnections = limits.connections;
    this.#proxyProtocol = options.balancers && new ProxyProtocol(options.balancers, headersTimeoutMs);
    this.#clients = new TcpClients(limits, streams, options);
    this.#admitInTurn();
    this.#watchConnections();
    this.#server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) =>
      this.#answer(request, response),
    );
    if (takers) this.#passStreams(takers);
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
      endMalformed(error, socket, this.#clients.isBusy(socket)),
    );
    // Node would ask for the body at once. A target that answers without reading the body does not need it.
    this.#server.on('checkContinue', (request: Http2ServerRequest, response: Http2ServerResponse) =>
      this.#answer(
        request,
        response,
        this.#clients.holdBody(request, () => response.writeContinue()),
      ),
    );
  }

  /** Binds the port. Rejects with the system's error. */
  async listen(): Promise<ListenAddress> {
    const { socket } = this.#options;
    const { address, port } = this.#options.address;
    if (socket?.begins) {
      void socket.begins.then(() => this.#accept(socket));
      return { address, port: socket.port };
    }
    // `::` accepts IPv4 as well, as the UDP socket does.
    this.#server.listen(socket ? { fd: socket.descriptor } : { host: address, port, ipv6Only: false });
    await once(this.#server, 'listening');
    this.#server.on('error', () => undefined);
    return { address, port: (this.#server.address() as AddressInfo).port };
  }

  /** Accepts no more connections. Those that are open go on as before. */
  stopAccepting(): void {
    if (!this.#server.listening) return;
    this.#closed = once(this.#server, 'close');
    // The method of servers for HTTP would end idle connections as well.
    NetServer.prototype.close.call(this.#server);
  }

  /** Returns how often each bound was reached. */
  get limitHits(): Readonly<Record<string, number>> {
    return this.#clients.hits;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Takes another certificate, with another oldest version of TLS. */
  updateCertificate(pair: CertificatePair, minimumTls: TcpListenerOptions['minimumTls']): void {
    if (!('setSecureContext' in this.#server)) return;
    this.#server.setSecureContext(secureContext(pair, minimumTls));
    this.updateTicketKeys(this.#ticketKeys);
  }

  /** Seals and opens tickets with this key of 48 bytes from now on; undefined: with one that Node draws. */
  updateTicketKeys(keys: Buffer | undefined): void {
    this.#ticketKeys = keys;
    if (keys && 'setTicketKeys' in this.#server) this.#server.setTicketKeys(keys);
  }

  /** Stops accepting connections. Open requests have `drainMs` to finish; after that their connections are closed. */
  async close(drainMs: number): Promise<void> {
    this.#draining = true;
    const cut = (): void => this.#connections.forEach((socket) => socket.destroy());
    this.stopAccepting();
    if (!this.#closed) {
      if (drainMs === 0) cut();
      return;
    }
    this.#clients.closeWaiting();
    if ('closeIdleConnections' in this.#server) this.#server.closeIdleConnections();
    for (const session of this.#sessions) session.close();
    // Node cannot close idle HTTP/1.1 connections of an HTTP/2 server, so look for them here.
    const idle = setInterval(() => this.#closeIdle(), 50);
    const timer = setTimeout(cut, Math.min(drainMs, longestTimerMs));
    this.#closeIdle();
    await this.#closed;
    clearInterval(idle);
    clearTimeout(timer);
  }

  #accept({ descriptor }: ListeningSocket): void {
    if (this.#draining) return closeSync(descriptor);
    this.#server.on('error', () => undefined).listen({ fd: descriptor });
  }

  /** Passes a connection to the server, which begins its TLS handshake, once its client is known and it is its turn. */
  #admitInTurn(): void {
    const { limits, certificate, counts } = this.#options;
    const server = this.#server as Http2SecureServer;
    const pacer =
      certificate &&
      new HandshakePacer({
        perSecond: limits.handshakes_per_second,
        maxWaiting: limits.half_open_handshakes,
        maxWaitMs: headersTimeoutMs,
        counts,
      });
    const listeners = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      limitUnsent(socket, unsentBytes);
      const begin = (): void => listeners.forEach((listener) => void listener.call(server, socket));
      const beginPlain = (): void => {
        this.#carry(socket, 'http/1.1');
        begin();
      };
      const pace = (): void => (pacer ? pacer.admit(socket, begin) : beginPlain());
      const share = (): void => {
        const client = this.#clientOf(socket);
        if (!this.#clients.admit(socket, client)) return;
        if (this.#isProxy(client)) pace();
        else this.#clients.await(socket, client, pace);
      };
      if (this.#proxyProtocol) this.#proxyProtocol.admit(socket, share);
      else share();
    });
  }

  /** The connections of a trusted proxy belong to many clients. */
  #isProxy(client: string): boolean {
    return this.#options.proxies?.trusts(client) ?? false;
  }

  #carry(socket: Socket, version: 'http/1.1' | 'h2'): void {
    const client = this.#clientOf(socket);
    if (!this.#isProxy(client)) this.#clients.carry(socket, client, version);
  }

  #clientOf(socket: Socket): string {
    return this.#proxyProtocol?.clientOf(socket) ?? socket.remoteAddress ?? '';
  }

  #closeIdle(): void {
    for (const socket of this.#sockets) if (!this.#clients.isBusy(socket) && !isHttp2(socket)) socket.destroy();
  }

  #watchConnections(): void {
    const track = (set: Set<Socket>) => (socket: Socket) => {
      set.add(socket);
      socket.on('error', () => undefined).once('close', () => set.delete(socket));
    };
    const server = this.#server as Http2SecureServer;
    server.on('connection', track(this.#connections));
    server.on(this.#options.certificate ? 'secureConnection' : 'connection', track(this.#sockets));
    let carrier: Socket | undefined;
    // Runs before Node opens the session, whose initial settings are those of the server.
    server.prependListener('secureConnection', (socket: Socket) => {
      carrier = socket;
      this.#carry(socket, isHttp2(socket) ? 'h2' : 'http/1.1');
      server.updateSettings({
        maxConcurrentStreams: this.#clients.streamsFor(this.#clientOf(socket)),
        // RFC 8441 §3: a reload may have added the first tunnel.
        enableConnectProtocol: (this.#options.takers?.size ?? 0) > 0,
      });
    });
    server.on('session', (session) => {
      this.#sessions.add(session);
      this.#clients.open(session, this.#clientOf(session.socket));
      this.#trees.set(session, new Http2Tree(session, this.#nodeNumbers));
      session.once('close', () => this.#sessions.delete(session));
      session.on('error', () => undefined);
      watchSession(session, carrier!, this.#options.limits.idle);
      // The session opened while the gateway was stopping.
      if (this.#draining) session.close();
    });
  }

  #answer(request: Http2ServerRequest, response: Http2ServerResponse, confirm?: () => void): void {
    const altSvc = this.#options.altSvc?.();
    if (altSvc !== undefined) response.setHeader('alt-svc', altSvc);
    const { socket } = request;
    const valid = request.httpVersionMajor !== 1 || hasOneHost(request);
    if (request.httpVersionMajor === 1) {
      if (this.#draining || !valid) response.setHeader('connection', 'close');
      response.once('close', () => {
        // A closed socket has no event left that would end the wait, so it would be held for all that time.
        if (!request.complete && !socket.destroyed) awaitRest(request, this.#options.limits.idle);
      });
    }
    const { handler, proxies } = this.#options;
    const converted = fromNodeRequest(request, this.#carriedBy(request), {
      priority: this.#priorityOf(request),
      confirm,
    });
    // An empty target gets 400, and is logged like others.
    const received = valid ? converted : { ...converted, url: '' };
    const carried = fromNodeResponse(response);
    this.#clients.begin(
      request,
      received.remoteAddress,
      carried,
      () => void handler.handle(proxies?.resolve(received) ?? received, carried),
    );
  }

  #carriedBy({ socket }: Pick<Http2ServerRequest, 'socket'>): {
    scheme: 'https' | 'http';
    address: string | undefined;
  } {
    return {
      scheme: this.#options.certificate ? 'https' : 'http',
      address: this.#proxyProtocol?.clientOf(socket),
    };
  }

  #passStreams(takers: StreamTakers): void {
    const taking = new StreamTaking({
      takers,
      clients: this.#clients,
      convert: (request) => {
        const received = fromNodeRequest(request, this.#carriedBy(request));
        return this.#options.proxies?.resolve(received) ?? received;
      },
    });
    const server = this.#server as HttpServer;
    server.on('upgrade', (request, socket: Socket, head) => taking.onUpgrade(request, socket, head));
    // Servers of HTTP/2 that take HTTP/1.1, too, have one event for both.
    server.on(
      'connect',
      (request: IncomingMessage | Http2ServerRequest, carrier: Socket | Http2ServerResponse, head: Buffer) => {
        if (request.httpVersionMajor === 2)
          taking.onConnect(request as Http2ServerRequest, carrier as Http2ServerResponse);
        else taking.onTunnel(request as IncomingMessage, carrier as Socket, head);
      },
    );
  }

  #priorityOf({ httpVersionMajor, stream, headers }: Http2ServerRequest): StreamPriority | undefined {
    const session = httpVersionMajor === 2 ? stream.session : undefined;
    return (
      session && this.#trees.get(session as ServerHttp2Session)?.priorityOf(stream, headerValue(headers, 'priority'))
    );
  }
}

/**
 * Cipher suites. Below TLS 1.3 these are the ones that HTTP/2 allows (RFC 9113 §9.2.2), with ephemeral keys and AEAD.
 */
const cipherSuites =
  'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20';

function secureContext(
  { certificate, privateKey }: CertificatePair,
  minimum: '1.2' | '1.3' = '1.3',
): SecureContextOptions {
  return { cert: certificate, key: privateKey, minVersion: `TLSv${minimum}`, ciphers: cipherSuites };
}

/** Gives a client that has its response some time to send the rest of its body, which nobody reads (RFC 9112 §9.6). */
function awaitRest(request: Http2ServerRequest, ms: number): void {
  const { socket } = request;
  const timer = setTimeout(() => socket.destroy(), ms).unref();
  const rest = request as unknown as NodeJS.EventEmitter;
  const done = (): void => clearTimeout(timer);
  rest.once('end', done);
  socket.once('close', done);
}

function isHttp2(socket: Socket): boolean {
  return (socket as { alpnProtocol?: unknown }).alpnProtocol === 'h2';
}
