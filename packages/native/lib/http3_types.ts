import type { Readable, Writable } from 'node:stream';
import type { SocketAddress } from './address.js';
import type {
  ConnectionStatus,
  ImportedConnection,
  KeyControl,
  OpenPathOptions,
  PathControl,
  PathEvent,
  ServedConnection,
  ServerConnection,
  TransportCounters,
} from './connection_types.js';
import type { HeaderMap, RequestHeaders } from './header_types.js';
import type { BackendEvents, OpenBackendOptions } from './multi_end_types.js';
import type { StreamPriority } from './stream_priority.js';
import type { CertificatePair, ServerSecret } from './transport_options.js';
import type {
  CarriedStream,
  OpenedTunnel,
  TunnelOptions,
  TunnelPort,
  TunnelPortOptions,
  TunnelRelayOptions,
  TunnelTotals,
} from './tunnel_types.js';
import type { WebTransportRequest, WebTransportSession } from './webtransport_types.js';

/** A body as it arrives. As a Readable it yields chunks that belong to the reader. */
export interface ReceivedBody extends Readable {
  /**
   * Copies received bytes to the start of `buffer`, as many as are there and fit, and waits while there are none. Resolves
   * with their number, 0 at the end of the body. This is the cheapest way to look at a long body: the same memory serves
   * again and again. `buffer` is written to during the call and the wait alone. Only one call may wait at a time. Rejects
   * as the Readable fails, and with a TypeError for an empty buffer, for one whose memory was transferred meanwhile, and
   * for a second call while one waits.
   */
  readInto(buffer: Uint8Array): Promise<number>;
}

/**
 * One HTTP/3 (or hq-interop) request as the server sees it. It has the same shape as Node's
 * `http.IncomingMessage` where names agree, so that one handler serves all HTTP versions.
 */
export interface ServerRequest extends ReceivedBody {
  /** Method, such as `GET`. */
  readonly method: string;
  /** Path and query, as in `http.IncomingMessage.url`. */
  readonly url: string;
  /** Fields of the request. */
  readonly headers: HeaderMap;
  /** Host and port that the client asked for. */
  readonly authority: string;
  /** `https`, unless the client says otherwise. */
  readonly scheme: string;
  /** `0.9` over hq-interop. */
  readonly httpVersion: '3' | '0.9';
  /** Address of the client when the request came. */
  readonly remoteAddress: SocketAddress;
  /** Id of the QUIC stream (RFC 9000 §2.1). */
  readonly streamId: number;
  /** A {@link ServerConnection}, or an {@link ImportedConnection} where this server is a backend of it. */
  readonly connection: ServedConnection;
  /** True when the request came in 0-RTT packets: it may be a replay (RFC 8470). */
  readonly early: boolean;
  /** Protocol of an extended CONNECT (RFC 9220), see {@link ServerOptions.extendedConnect}; else undefined. */
  readonly protocol: string | undefined;
  /** Fields behind the body; empty until the body has ended. */
  readonly trailers: HeaderMap;
  /** Whether the request has ended, and nobody has begun to read its body, which is empty. */
  readonly bodyless: boolean;
}

/** Response to a request: `end()` finishes the stream, and `destroy(error)` resets it. */
export interface ServerResponse extends Writable {
  /** Status of the response. Default 200. */
  statusCode: number;
  /** True once the fields have been sent. */
  readonly headersSent: boolean;
  /** Sets a field. @throws QuicError `HEADERS_SENT` */
  setHeader(name: string, value: string | number | string[]): this;
  /** Reads a field that was set, whatever the case of its name. */
  getHeader(name: string): string | string[] | undefined;
  /** Takes a field back. */
  removeHeader(name: string): void;
  /** Sets the status and fields; they are sent with the first bytes of the body. @throws QuicError `HEADERS_SENT` */
  writeHead(status: number, headers?: Record<string, string | number | string[]>): this;
  /**
   * Lends chunks to the transport until the client has them, instead of copying each. Then nobody may write to the bytes of a
   * chunk after `write`. Default false.
   */
  keepsChunks: boolean;
  /**
   * Returns the number of bytes to write next. Waits while the client does not read what was written, or while its connection
   * has no memory for more. A writer whose body comes from elsewhere asks before it reads there.
   */
  room(): number | Promise<number>;
  /**
   * Returns a Buffer of so many bytes with arbitrary content, for `write` with `keepsChunks`. Its memory is used again once the
   * client has its bytes: nobody may read or write it after `write`.
   */
  takeBuffer(bytes: number): Buffer;
  /**
   * Sends an interim response (1xx, but not 101) before the final one; afterwards it does nothing. HTTP/0.9 has none.
   * @throws QuicError `WRITE_REFUSED` for a field or a status that is not allowed
   */
  writeInformational(status: number, headers?: Readonly<Record<string, string | number | string[]>>): void;
  /** Sets the fields behind the body; the last call before `end()` counts. HTTP/0.9 has none. */
  addTrailers(headers: Readonly<Record<string, string | number | string[]>>): void;
  /** Sends the status and fields ahead of a body. */
  flushHeaders(): void;
  /** Abandons the response with a code of HTTP/3. */
  reset(code: number): void;
  /** Replaces the priority that the request's `priority` field asks for (RFC 9218 §5). */
  setPriority(priority: StreamPriority): void;
  /**
   * Sends the head of a response, and leaves its body to the backend that accepted the grant of `offerResponse`. `head` comes
   * from `encodeHead`. Returns the offset of the body's first byte in the stream, which must be the one that the backend sends
   * from. The response finishes when the client has everything. The event `returnLost` (see {@link ReturnLost}) tells that the
   * backend sends nothing more; without a listener the response is reset.
   * @throws QuicError `HEADERS_SENT`, `WRITE_REFUSED`; `CLIENT_LEFT` where the client has given the request up, of which `close`
   * tells later
   */
  handOff(head: Uint8Array, bodyLength: number): number;
  /**
   * Sends part of a body that was handed off from here, at an offset in the stream: bytes that the client does not have, or
   * that follow those of the backend. Returns false when the buffer is full; `drain` follows. @throws QuicError `WRITE_REFUSED`
   */
  writeInstead(offset: number, chunk: Uint8Array | undefined, fin: boolean): boolean;
  /**
   * Offset in the stream before which the client has everything, as it was last known. Of a response that was handed off, `writableLength` says how
   * many bytes it does not have.
   */
  readonly acknowledged: number;
}

/** Events of an {@link Http3Server}. */
export interface Http3ServerEvents {
  /** A request arrived; its body may still be arriving. */
  request: [request: ServerRequest, response: ServerResponse];
  /** A client asks for a WebTransport session. */
  webtransport: [request: WebTransportRequest];
  /** A handshake completed. */
  connection: [connection: ServerConnection];
  /** Something happened to a path of a connection. */
  path: [connection: ServerConnection, event: PathEvent];
  /** A listener of this server threw, or its promise rejected. Without a listener here the error reaches the process. */
  error: [error: Error];
}

/** The part of an `AbortSignal` that a request needs. */
export interface CancelSignal {
  /** Whether the request is cancelled already. */
  readonly aborted: boolean;
  /** Adds a function that is called once, when the request is cancelled. */
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void;
}

/** Request of a client. */
export interface ClientRequestOptions {
  /** Default `GET`. */
  method?: string;
  /** Protocol of an extended CONNECT (RFC 9220), with the `method` CONNECT. Rejects where the server does not take such requests. */
  protocol?: string;
  /** Path and query; not sent with CONNECT without a `protocol`. */
  path: string;
  /** Host and port to ask for, or the target of CONNECT. Default: those that the client connected to. */
  authority?: string;
  /** Fields of the request. */
  headers?: RequestHeaders;
  /** Body of the request. Default none. */
  body?: AsyncIterable<Uint8Array | string> | Buffer;
  /**
   * Id of the only path that carries what this side sends, even while it is silent. Once that path is abandoned, any other
   * may carry it. Rejects with `QuicError` `PATH_REFUSED` when there is no such path.
   */
  onPath?: number;
  /**
   * Backend that answers, see {@link Http3Client.openBackend}. Rejects with `QuicError` `BACKEND_REFUSED` while no path to it
   * is open. When the backend is lost, the request fails with `BACKEND_LOST`, and the response first yields what had arrived.
   */
  backend?: number;
  /** Called once the body has ended, for the fields behind it. Not called without a body. */
  trailers?(): RequestHeaders | undefined;
  /** Called for each interim response (1xx). */
  onInformational?(status: number, headers: HeaderMap): void;
  /** Cancels the request: both directions of its stream are reset. */
  signal?: CancelSignal;
}

/** Response as a client sees it. */
export interface ClientResponse extends Readable {
  /** Status, such as 200. */
  readonly status: number;
  /** Fields of the response. */
  readonly headers: HeaderMap;
  /** Fields behind the body; empty until the body has ended. */
  readonly trailers: HeaderMap;
}

/** Response whose body came from one server. */
export interface ReceivedResponse extends ClientResponse, ReceivedBody {}

/** Which responses {@link Http3Client.requestWhole} gives whole. */
export interface WholeResponses {
  /** Name of a field that they have, in lower case. */
  field: string;
  /** Bytes of their bodies at most. */
  bytes: number;
}

/** Response with its body. */
export interface WholeResponse {
  /** Status, such as 200. */
  readonly status: number;
  /** Fields of the response. */
  readonly headers: HeaderMap;
  /** The body. A body that is longer than was asked for is cut off somewhere behind that. */
  readonly whole: Buffer;
}

/** A server for HTTP/3, WebTransport and hq-interop on one UDP port. Emits {@link Http3ServerEvents}. */
export interface Http3Server extends NodeJS.EventEmitter<{ [K in keyof Http3ServerEvents]: Http3ServerEvents[K] }> {
  /** Binds the port and serves. Rejects with the system's error code (`EADDRINUSE`, `EACCES`). */
  listen(): Promise<SocketAddress>;
  /** Replaces the certificate for handshakes that start from now on. Throws when certificate and key do not match. */
  updateCertificate(pair: CertificatePair): void;
  /**
   * Replaces the secrets: for handshakes that start from now on, and for what earlier ones made.
   * @throws TypeError for secrets that are malformed
   */
  updateSecrets(secrets: readonly ServerSecret[]): void;
  /**
   * Replaces `resetSecret` of a server without `secrets`, for connections that start from now on.
   * @throws TypeError when it does not have 32 bytes
   */
  updateResetSecret(secret: Uint8Array): void;
  /** Reads the state of all open connections; a copy. */
  connections(): ConnectionStatus[];
  /**
   * Takes over a path of another server's connection (docs/internals/multi-end.md).
   * @throws QuicError `SNAPSHOT_REFUSED` for one that is malformed or unusable, or was imported before
   */
  importConnection(snapshot: Uint8Array): ImportedConnection;
  /** Reads the server's counts; a copy. */
  counters(): TransportCounters;
  /**
   * Connects a request for UDP proxying that came over another version of HTTP to its target. The caller sends the response, at
   * once. Returns undefined when the client has left, or the server is closed.
   * @throws Error with the system's `code`, such as `ENETUNREACH`; the stream is the caller's then
   */
  carryTunnel(stream: CarriedStream, options: TunnelOptions): OpenedTunnel | undefined;
  /** Reads the counts of all tunnels so far (see `openTunnel`); a copy. */
  tunnels(): TunnelTotals;
  /**
   * Sends GOAWAY (RFC 9114 §5.2), waits for open requests for at most `drainMs` milliseconds (default 0), and closes what is
   * left and the socket.
   */
  close(drainMs?: number): Promise<void>;
}

/** Events of an {@link Http3Client}. */
export interface Http3ClientEvents extends BackendEvents {
  /** The connection is over; without an error when a side closed it with H3_NO_ERROR. */
  close: [error: Error | undefined];
  /** The server gave a ticket for {@link ClientOptions.session} of a later connection. */
  session: [ticket: Buffer];
  /** Something happened to a path. */
  path: [event: PathEvent];
}

/** One client connection for HTTP/3 or hq-interop requests. Emits {@link Http3ClientEvents}. */
export interface Http3Client
  extends PathControl, KeyControl, NodeJS.EventEmitter<{ [K in keyof Http3ClientEvents]: Http3ClientEvents[K] }> {
  /** Protocol that both sides agreed on. */
  readonly alpn: string;
  /** Sends a request. Resolves with the final response once its fields have arrived; rejects with {@link QuicError}. */
  request(options: ClientRequestOptions): Promise<ReceivedResponse>;
  /**
   * As `request`; but a response with a certain field is given whole, once it is complete or too long. That costs less than to
   * read a short body. Rejects also when such a response breaks off.
   */
  requestWhole(options: ClientRequestOptions, which: WholeResponses): Promise<ReceivedResponse | WholeResponse>;
  /**
   * As `requestWhole`, for a request without a body. Calls `answered` once, in a later turn, with the response or the error.
   * That costs less than promises. Returns false when the request would have to wait: nothing was sent then, and nothing is
   * called. @throws QuicError when the request is refused
   */
  ask(
    options: ClientRequestOptions,
    which: WholeResponses,
    answered: (answer: ReceivedResponse | WholeResponse | Error) => void,
  ): boolean;
  /**
   * Opens a WebTransport session by extended CONNECT. Rejects with {@link QuicError} `SESSION_REFUSED`, with the status as
   * `errorCode`, when the server does not open it.
   */
  openWebTransport(path: string, headers?: RequestHeaders, authority?: string): Promise<WebTransportSession>;
  /**
   * Opens a path. Resolves with its id once both sides have shown that they can be reached on it. Rejects with
   * {@link QuicError} `NO_MULTIPATH` (the peer does not offer it), `PATH_REFUSED` or `PATH_FAILED` (nothing came back), or with
   * the system's `code`, such as `EADDRNOTAVAIL`.
   */
  openPath(options: OpenPathOptions): Promise<number>;
  /**
   * Moves the first path to another address or port of this host (RFC 9000 §9). Port 0 takes a free one. Returns false, and
   * does nothing, before the handshake is confirmed, where the server forbids it, and while no unused connection id of the
   * server is here. Throws with the system's `code`, such as `EADDRNOTAVAIL`.
   */
  migrate(local: { address: string; port: number }): boolean;
  /**
   * Opens a path to a backend that the server offered. Resolves with its id once both sides have shown that they can be
   * reached on it. Rejects with {@link QuicError} `NO_MULTI_END`, `BACKEND_REFUSED` (not offered, or opened already) or
   * `PATH_FAILED` (it does not answer).
   */
  openBackend(backend: number, options?: OpenBackendOptions): Promise<number>;
  /**
   * Opens a local UDP port whose peers get a tunnel each through this server, a proxy for UDP (RFC 9298). The connection needs
   * `datagrams`. Throws with the system's `code`, such as `EADDRINUSE`.
   */
  openTunnelPort(options: TunnelPortOptions): TunnelPort;
  /**
   * Tells the server what the proxy has reported (`onReport` of {@link TunnelPortOptions}) about the tunnel that carries this
   * connection. The newest report counts. Returns false when the server follows none, or the connection is over.
   */
  reportTunnel(report: Uint8Array): boolean;
  /**
   * Opens a local UDP port for one program that names the target of each packet in a header in front of it (SOCKS 5, RFC 1928 §7). Each
   * target gets a tunnel, as with `openTunnelPort`, and what comes back has the same header. Fragments are dropped, and so is what goes to
   * more than 256 targets at one time.
   */
  openTunnelRelay(options: TunnelRelayOptions): TunnelPort;
  /** Requests that are not over, tunnels among them */
  readonly openRequests: number;
  /** Reads the counts of the tunnels of all its ports so far; a copy. The target is the peer of the port here. */
  tunnels(): TunnelTotals;
  /** Reads the state of the connection; a copy, and the last one after the connection is over. */
  status(): ConnectionStatus;
  /** Closes the connection with an error code of HTTP/3 (RFC 9114 §8.1; default H3_NO_ERROR) and a reason for the peer's log. */
  close(code?: number, reason?: string): Promise<void>;
}
