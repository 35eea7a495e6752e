import type { Readable, Writable } from 'node:stream';
import type { SocketAddress } from './address.js';
import type { LinkRelay, LinkRelayOptions } from './link_relay.js';
import type {
  BackendControl,
  BackendEvents,
  BackendKeyMode,
  BackendStatus,
  ImportedConnectionEvents,
  OpenBackendOptions,
  ServerConnectionEvents,
} from './multi_end_types.js';
import type { StreamPriority } from './stream_priority.js';

export type { SocketAddress } from './address.js';
export type { StreamDependency, StreamPriority } from './stream_priority.js';

/** Request or response headers: lower-case names; pseudo-headers (`:path`) are never in here. */
export type HeaderMap = Record<string, string | string[]>;

/** `olia` couples the paths of a connection: together they take no more than one where they share a link. */
export type CongestionControl = 'cubic' | 'new_reno' | 'bbr' | 'olia';

/**
 * Which path the next packet takes: the fastest that has room (`min-rtt`), the same unless waiting for it is
 * sooner done (`ecf`), unless another would block the line (`blest`), in turn, in turn by weight, all (`redundant`),
 * or one until it fails (`backup-only`).
 */
export type PathScheduler = 'ecf' | 'min-rtt' | 'round-robin' | 'weighted' | 'blest' | 'redundant' | 'backup-only';

/**
 * In which order streams are sent: what a page needs first, to its end (`critical-first`); by urgency (`rfc9218`); first
 * come, first served; or as Nguyen et al. describe it, in turn (`rr`), by weights of the dependency tree (`wrr`, `swrr`, `dwrr`),
 * or a path for each stream (`sa-ecf`), each also as it was released.
 */
export type StreamScheduler =
  | 'critical-first'
  | 'rfc9218'
  | 'fcfs'
  | 'rr'
  | 'wrr'
  | 'wrr-burst'
  | 'swrr'
  | 'swrr-released'
  | 'dwrr'
  | 'dwrr-root-only'
  | 'sa-ecf'
  | 'sa-ecf-released';

/** Transport settings shared by servers and clients. Durations in milliseconds, sizes in bytes. */
export interface TransportOptions {
  /** Offered (client) or accepted (server) protocols, most wanted first. */
  alpn: string[];
  idleTimeoutMs?: number;
  keepAliveMs?: number;
  /** What the peer may send at first before any of it is read; grows up to `maxConnectionWindow`. */
  initialConnectionWindow?: number;
  /** Upper bound of the auto-tuned connection receive window. */
  maxConnectionWindow?: number;
  /** What the peer may send on one stream at first. */
  initialStreamWindow?: number;
  maxStreamWindow?: number;
  maxBidirectionalStreams?: number;
  maxUnidirectionalStreams?: number;
  maxDatagramFrameSize?: number;
  congestionControl?: CongestionControl;
  /** Offers several paths per connection (RFC 10069); default true. */
  multipath?: boolean;
  /**
   * Several servers on one connection (docs/internals/multi-end.md): offered, and used when the peer offers it, too. Needs
   * `multipath`. Default false.
   */
  multiEnd?: boolean;
  /** Acceptable ways to protect backends' packets; default both, and per path is preferred. */
  backendKeyModes?: readonly BackendKeyMode[];
  /** Default `ecf`. */
  pathScheduler?: PathScheduler;
  /** Default `critical-first`. */
  streamScheduler?: StreamScheduler;
  /** Directory that receives one `<odcid>.sqlog` per connection (draft-ietf-quic-qlog). */
  qlogDirectory?: string;
  /** File that TLS secrets are appended to (SSLKEYLOGFILE format). */
  keyLogFile?: string;
}

/** PEM text. `certificate` may hold a chain. */
export interface CertificatePair {
  certificate: string;
  privateKey: string;
}

export interface ServerOptions extends TransportOptions {
  address: string;
  /** More addresses of this host with the same port: a connection can have paths to all of them. */
  furtherAddresses?: readonly string[];
  port: number;
  certificate: CertificatePair;
  maxConnections?: number;
  /** Of the clients of one IPv4 address, or of one IPv6 /56. Default 1,000. */
  maxConnectionsPerNetwork?: number;
  /**
   * Bytes that one connection holds at most: unsent, unacknowledged and unread ones, and 32 KiB for each request that
   * JavaScript has. Requests beyond it wait in the transport. Default 8 MiB.
   */
  connectionMemory?: number;
  /** The same of all connections; one network has a quarter. Near it each connection has less, then some are closed. Default 256 MiB. */
  memory?: number;
  /** New handshakes accepted per second before Retry is used. */
  handshakesPerSecond?: number;
  maxHalfOpenHandshakes?: number;
  /** `auto`: only under load (RFC 9000 §8.1.2). */
  retry?: 'auto' | 'always' | 'never';
  /** SETTINGS_MAX_FIELD_SECTION_SIZE (RFC 9114 §7.2.4.1). */
  maxHeaderBytes?: number;
  /** Paths on which WebTransport sessions may be opened are decided per request; this only announces support. */
  webtransport?: boolean;
  /**
   * Announces extended CONNECT (RFC 9220) and HTTP datagrams (RFC 9297), as `webtransport` does, too. A request with
   * another `:protocol` than WebTransport's comes as `request`, to be answered like any other; its datagrams come as
   * capsules in its body, and those that are sent otherwise cost it its stream (H3_DATAGRAM_ERROR).
   */
  extendedConnect?: boolean;
}

export interface ClientOptions extends Partial<TransportOptions> {
  host: string;
  port: number;
  /** SNI and certificate name; default: host. */
  serverName?: string;
  /** Accept any certificate. */
  insecure?: boolean;
  /** PEM bundle of additional trust anchors. */
  certificateAuthority?: string;
  /** Accepted SHA-256 hashes (hex) of the server's leaf certificate, instead of a chain. */
  certificateHashes?: string[];
  /** Accepted SHA-256 hashes (hex) of the public key (SubjectPublicKeyInfo) of the server's leaf certificate, likewise. */
  publicKeyHashes?: string[];
  localAddress?: string;
  /** Default: one that is free. */
  localPort?: number;
  /** IP address and port that datagrams go to instead of those of `host` and `port`, which keep naming the server. */
  remote?: { address: string; port: number };
  /** Longest wait for the handshake; then `QuicError` `CONNECT_TIMEOUT`. Default: as long as the connection may be idle. */
  connectTimeoutMs?: number;
  webtransport?: boolean;
  /** A `session` event's value of an earlier connection: resumes, and allows 0-RTT. */
  session?: Buffer;
  /**
   * With a `session` that allows 0-RTT: resolves before the handshake is done, and requests without a body whose method is GET,
   * HEAD or OPTIONS leave at once; others wait. What the server refuses is sent again after the handshake. Whoever sees them on
   * their way can send them again (RFC 8470 §3). Without effect where `host` has several addresses. Default false.
   */
  earlyRequests?: boolean;
}

/** A body as it arrives. As a Readable it gives chunks that belong to whoever reads them. */
export interface ReceivedBody extends Readable {
  /**
   * Copies received bytes to the start of `buffer`, as many as are here and fit, and waits where none are. Resolves with their
   * number, 0 at the end of the body. The cheapest way to look at a long body: the same memory serves again and again, and
   * it is written to during the call and the wait alone. One call at a time. Rejects as the Readable fails, and with a
   * TypeError for an empty buffer, one whose memory was transferred meanwhile, and a second call while one waits.
   */
  readInto(buffer: Uint8Array): Promise<number>;
}

/**
 * One HTTP/3 (or hq-interop) request as the server sees it. The same shape as Node's
 * `http.IncomingMessage` where names agree, so that one handler serves all HTTP versions.
 */
export interface ServerRequest extends ReceivedBody {
  readonly method: string;
  /** Path and query, as in `http.IncomingMessage.url`. */
  readonly url: string;
  readonly headers: HeaderMap;
  readonly authority: string;
  readonly scheme: string;
  readonly httpVersion: '3' | '0.9';
  readonly remoteAddress: SocketAddress;
  readonly streamId: number;
  /** A {@link ServerConnection}, or an {@link ImportedConnection} where this server is a backend of it. */
  readonly connection: ServedConnection;
  /** Received in 0-RTT packets: may be a replay (RFC 8470). */
  readonly early: boolean;
  /** Of an extended CONNECT (RFC 9220), see {@link ServerOptions.extendedConnect}. */
  readonly protocol: string | undefined;
  /** Known once the body has ended. */
  readonly trailers: HeaderMap;
}

/** Writable half of a request; `end()` finishes the stream, `destroy(error)` resets it. */
export interface ServerResponse extends Writable {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string | number | string[]): this;
  getHeader(name: string): string | string[] | undefined;
  removeHeader(name: string): void;
  writeHead(status: number, headers?: Record<string, string | number | string[]>): this;
  /**
   * Nobody writes to the bytes of a chunk after `write` got it: they are lent to the transport until the client has them. Else
   * each chunk is copied. Default false.
   */
  keepsChunks: boolean;
  /**
   * Bytes to write next. Waits while the client does not take what was written, or while its connection has no memory for
   * more: who reads the body from somewhere else asks before it reads.
   */
  room(): number | Promise<number>;
  /**
   * A Buffer of so many bytes, with whatever was in it, for `write` where `keepsChunks`: its memory serves again once the client
   * has its bytes. Nobody reads or writes it after `write` got it.
   */
  takeBuffer(bytes: number): Buffer;
  /**
   * Sends an interim response (1xx, but no 101) before the final one; after that it does nothing. HTTP/0.9 has none.
   * @throws QuicError `WRITE_REFUSED` for a field or a status that is not allowed
   */
  writeInformational(status: number, headers?: Readonly<Record<string, string | number | string[]>>): void;
  /** Fields behind the body; the last call before `end()` counts. HTTP/0.9 has none. */
  addTrailers(headers: Readonly<Record<string, string | number | string[]>>): void;
  /** Instead of what the request's `priority` field says. */
  setPriority(priority: StreamPriority): void;
}

export interface WebTransportCloseInfo {
  closeCode: number;
  reason: string;
}

/** A bidirectional stream, with what the W3C interface has no word for. */
export interface WebTransportBidirectionalStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  /** Of what this side sends on it. */
  setPriority(priority: StreamPriority): void;
  /** That this side will have sent at its end, for schedulers that look at what remains. */
  setExpectedBytes(bytes: number): void;
}

export interface WebTransportDatagrams {
  /** 256 datagrams and 256 KiB wait for the reader at most; beyond that the oldest are dropped. */
  readonly readable: ReadableStream<Uint8Array>;
  /** One that all who ask share. A write waits while 512 KiB of datagrams wait to be sent. */
  readonly writable: WritableStream<Uint8Array>;
  createWritable(): WritableStream<Uint8Array>;
  readonly maxDatagramSize: number;
  /** What became of them so far. The interface of the W3C has no word for it. */
  counts(): WebTransportDatagramCounts;
}

export interface WebTransportDatagramCounts {
  sent: number;
  acknowledged: number;
  /** Sent and thought lost; one that is acknowledged after that counts as both. */
  lost: number;
  /** Not sent: relayed ones that found the queue full. */
  expired: number;
  /** Received, and dropped because nobody read them. */
  dropped: number;
}

/**
 * A session in the form of the W3C WebTransport interface (https://www.w3.org/TR/webtransport/). `closed` resolves
 * however the session ends, and the incoming streams end with it; streams of a session that is over fail with a
 * WebTransportError whose `source` is `session`, those that the peer reset or stopped with one that has its
 * `streamErrorCode`.
 */
export interface WebTransportSession {
  readonly ready: Promise<void>;
  readonly closed: Promise<WebTransportCloseInfo>;
  readonly draining: Promise<undefined>;
  readonly incomingBidirectionalStreams: ReadableStream<WebTransportBidirectionalStream>;
  readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
  readonly datagrams: WebTransportDatagrams;
  /** Rejects with a `QuotaExceededError` when the peer allows no more streams, unless it is to wait for that. */
  createBidirectionalStream(options?: { waitUntilAvailable?: boolean }): Promise<WebTransportBidirectionalStream>;
  createUnidirectionalStream(options?: { waitUntilAvailable?: boolean }): Promise<WritableStream<Uint8Array>>;
  /** Asks the peer to wind the session down. */
  notifySessionDraining(): void;
  /** The code has 32 bits, the reason 1024 bytes at most. */
  close(info?: Partial<WebTransportCloseInfo>): void;
}

/** A request for a WebTransport session (extended CONNECT); exactly one of `accept` and `reject` must be called. */
export interface WebTransportRequest {
  readonly url: string;
  readonly authority: string;
  readonly origin: string | undefined;
  readonly headers: HeaderMap;
  readonly remoteAddress: SocketAddress;
  /** Answers 200 with these headers, such as `wt-protocol`. @throws QuicError `SESSION_REFUSED` when the request is gone */
  accept(headers?: RequestHeaders): WebTransportSession;
  reject(status: number): void;
}

/** How a path should be used (RFC 10069 §3.3): `backup` rests while another works. */
export type PathUse = 'available' | 'backup';

export interface PathStatus {
  id: number;
  local: SocketAddress;
  remote: SocketAddress;
  /** `silent`: a probe timeout passed since the peer last acknowledged something. */
  state: 'validating' | 'active' | 'silent' | 'abandoned';
  /** As this side told the peer. */
  status: PathUse;
  /** As the peer told this side. */
  peerStatus: PathUse;
  smoothedRttMs: number;
  rttVarianceMs: number;
  minRttMs: number;
  congestionWindow: number;
  bytesInFlight: number;
  bytesSent: number;
  bytesReceived: number;
  packetsSent: number;
  packetsReceived: number;
  packetsLost: number;
  mtu: number;
}

export interface ConnectionStatus {
  id: string;
  alpn: string;
  state: 'handshake' | 'established' | 'closing' | 'draining' | 'closed';
  /** What it holds, as `ServerOptions.connectionMemory` counts it. */
  memoryBytes: number;
  ageMs: number;
  streamsOpen: number;
  streamsTotal: number;
  datagramsSent: number;
  datagramsReceived: number;
  /** How often the keys of packets were replaced, by either side (RFC 9001 §6). */
  keyUpdates: number;
  /** With a ticket of an earlier connection (RFC 8446 §2.2); false while the handshake is pending. */
  resumed: boolean;
  /** The server took what came in 0-RTT packets (RFC 9001 §4.6); false while the handshake is pending. */
  earlyData: boolean;
  /** Both sides offered it: there may be several paths. */
  multipath: boolean;
  /** Both sides speak Multi-End: there may be several servers. */
  multiEnd: boolean;
  paths: PathStatus[];
  /** As far as this side knows; empty without Multi-End. */
  backends: BackendStatus[];
}

/** One path of a connection, told at the end of the turn in which it happened. */
export type PathEvent =
  /** The client has begun to use it; it carries data once validated. Servers only. */
  | { type: 'opened'; id: number }
  | { type: 'validated'; id: number }
  /** It leads to other addresses now. */
  | { type: 'moved'; id: number }
  /** The peer's wish. */
  | { type: 'status'; id: number; status: PathUse }
  | { type: 'abandoned'; id: number; code: number; byPeer: boolean };

/** Both sides may do this with the keys of a connection. */
export interface KeyControl {
  /**
   * Replaces the keys of all packets (RFC 9001 §6). False, and nothing happens, when that is not permitted yet: before
   * the handshake is confirmed, and until the peer has acknowledged the keys in use and had three probe timeouts since.
   */
  updateKeys(): boolean;
}

/** Both sides may do this with the paths of a connection. @throws QuicError `PATH_REFUSED`, `NO_MULTIPATH` */
export interface PathControl {
  /** Ends it; what is in flight on it goes over the others. Not the last one. */
  abandonPath(id: number, code?: number): void;
  setPathStatus(id: number, status: PathUse): void;
  /** For the `weighted` scheduler of this side: 1, as at first, to 1000. */
  setPathWeight(id: number, weight: number): void;
}

export interface OpenPathOptions {
  /** IP address of this host. */
  local: string;
  /** Default: one that is free. */
  localPort?: number;
  /** Default: where the connection began. */
  remote?: { address: string; port: number };
}

/** What every connection that brings requests can do. */
export interface ServedConnection extends PathControl, KeyControl {
  readonly id: string;
  /** The response to the request with this `streamId` leaves on this path alone, see {@link ClientRequestOptions.onPath}. */
  pinStream(streamId: number, path: number): void;
  status(): ConnectionStatus;
  close(code?: number, reason?: string): void;
}

/** A connection that shook hands with this server. */
export interface ServerConnection
  extends
    ServedConnection,
    BackendControl,
    NodeJS.EventEmitter<{ [K in keyof ServerConnectionEvents]: ServerConnectionEvents[K] }> {}

/**
 * A connection that another server handed a path of over. Its requests come with the server's `request` event, and
 * `request.connection` is this object.
 */
export interface ImportedConnection
  extends
    ServedConnection,
    NodeJS.EventEmitter<{ [K in keyof ImportedConnectionEvents]: ImportedConnectionEvents[K] }> {
  /** @throws QuicError `BACKEND_MESSAGE` for one that no primary writes */
  receivePrimaryMessage(message: Uint8Array): void;
  /** Refuses new requests, so that the client may send them elsewhere, and gives credit back when the last one is done. */
  drain(): void;
  /** Ends it here without a word to the client. */
  forget(): void;
}

/** Monotonic counters of one server since it was made; gauges where the name says so. */
export interface TransportCounters {
  connectionsAccepted: number;
  /** Taken over from other servers (docs/internals/multi-end.md). */
  connectionsImported: number;
  connectionsOpenGauge: number;
  handshakesPendingGauge: number;
  handshakesFailed: number;
  retriesSent: number;
  versionNegotiationsSent: number;
  statelessResetsSent: number;
  datagramsReceived: number;
  datagramsSent: number;
  bytesReceived: number;
  bytesSent: number;
  packetsLost: number;
  /** Calls about connections between JavaScript and the transport, both ways. */
  javascriptCalls: number;
  /** Bytes that connections hold, as `memory` counts them. */
  memoryBytesGauge: number;
  /** How often which bound was met (docs/reference/limits.md). */
  limitHits: Record<string, number>;
  /** By drop reason. */
  packetsDropped: Record<string, number>;
  /** By error name; a code without a name counts as `OTHER`, `APPLICATION_OTHER` or `CRYPTO_ERROR_other`. */
  connectionsClosed: Record<string, number>;
}

export interface Http3ServerEvents {
  request: [request: ServerRequest, response: ServerResponse];
  webtransport: [request: WebTransportRequest];
  connection: [connection: ServerConnection];
  path: [connection: ServerConnection, event: PathEvent];
  error: [error: Error];
}

export type RequestHeaders = Record<string, string | string[]>;

export interface ClientRequestOptions {
  method?: string;
  /** Of an extended CONNECT (RFC 9220), whose `method` is CONNECT. Rejects where the server does not take such requests. */
  protocol?: string;
  path: string;
  authority?: string;
  headers?: RequestHeaders;
  body?: AsyncIterable<Uint8Array | string> | Buffer;
  /**
   * Id of the path that alone carries what this side sends, even while it is silent; when it is abandoned, any may
   * carry it again. Rejects with QuicError `PATH_REFUSED` when there is no such path.
   */
  onPath?: number;
  /**
   * The backend that answers, see {@link Http3Client.openBackend}. Rejects with QuicError `BACKEND_REFUSED` while no path to it is
   * open. When the backend is lost, the request fails with `BACKEND_LOST`; the response first gives what had arrived.
   */
  backend?: number;
  /** Asked once the body has ended, for the fields behind it. Without a body it is not asked. */
  trailers?(): RequestHeaders | undefined;
  /** Hears of interim responses (1xx). */
  onInformational?(status: number, headers: HeaderMap): void;
  /** Gives the request up: both directions of its stream are reset. */
  signal?: AbortSignal;
}

export interface ClientResponse extends Readable {
  readonly status: number;
  readonly headers: HeaderMap;
  /** Known once the body has ended. */
  readonly trailers: HeaderMap;
}

/** A response as one server sends it. */
export interface ReceivedResponse extends ClientResponse, ReceivedBody {}

/**
 * One UDP port serving HTTP/3, WebTransport and hq-interop.
 * Emits {@link Http3ServerEvents}.
 */
export interface Http3Server extends NodeJS.EventEmitter<{ [K in keyof Http3ServerEvents]: Http3ServerEvents[K] }> {
  /** Binds the port. Rejects with the system's error code (`EADDRINUSE`, `EACCES`). */
  listen(): Promise<SocketAddress>;
  /** Used for handshakes that start from now on. Throws if certificate and key do not match. */
  updateCertificate(pair: CertificatePair): void;
  connections(): ConnectionStatus[];
  /**
   * Takes a path of another server's connection over (docs/internals/multi-end.md).
   * @throws QuicError `SNAPSHOT_REFUSED` for one that is malformed or unusable, or was imported before
   */
  importConnection(snapshot: Uint8Array): ImportedConnection;
  counters(): TransportCounters;
  /** GOAWAY, waits for open requests up to `drainMs`, then closes what is left and the socket. */
  close(drainMs?: number): Promise<void>;
}

export interface Http3ClientEvents extends BackendEvents {
  close: [error: Error | undefined];
  session: [ticket: Buffer];
  path: [event: PathEvent];
}

/** One client connection for HTTP/3 or hq-interop requests. */
export interface Http3Client
  extends PathControl, KeyControl, NodeJS.EventEmitter<{ [K in keyof Http3ClientEvents]: Http3ClientEvents[K] }> {
  readonly alpn: string;
  request(options: ClientRequestOptions): Promise<ReceivedResponse>;
  /** Extended CONNECT. Rejects with QuicError `SESSION_REFUSED`, with the status as `errorCode`, when the server does not open it. */
  openWebTransport(path: string, headers?: RequestHeaders, authority?: string): Promise<WebTransportSession>;
  /**
   * Resolves with the id of a new path once both ends have shown that they can be reached on it.
   * Rejects with QuicError `NO_MULTIPATH` (the peer does not speak it), `PATH_REFUSED`, `PATH_FAILED` (nothing came back),
   * or with the system's `code`, such as `EADDRNOTAVAIL`.
   */
  openPath(options: OpenPathOptions): Promise<number>;
  /**
   * Goes over to another address or port of this host, with its first path (RFC 9000 §9). Port 0 makes a socket. False, and
   * nothing happens, before the handshake is confirmed, where the server forbids it, and while no unused connection id of
   * the server is here. Throws with the system's `code`, such as `EADDRNOTAVAIL`.
   */
  migrate(local: { address: string; port: number }): boolean;
  /**
   * Resolves with the id of the path to an offered backend once both have shown that they can be reached on it. Rejects with
   * QuicError `NO_MULTI_END`, `BACKEND_REFUSED` (not offered, or opened already) or `PATH_FAILED` (it does not answer).
   */
  openBackend(backend: number, options?: OpenBackendOptions): Promise<number>;
  status(): ConnectionStatus;
  close(code?: number, reason?: string): Promise<void>;
}

/** What `@sheaf/native` exports beside these types. */
export interface NativeModule {
  createHttp3Server(options: ServerOptions): Http3Server;
  /** Rejects with `QuicError` when the handshake fails. */
  connectHttp3(options: ClientOptions): Promise<Http3Client>;
  createLinkRelay(options: LinkRelayOptions): LinkRelay;
  /** Rejects with `QuicError` when the other server refuses the session; `request` is then still to be rejected. */
  relayWebTransport(
    request: WebTransportRequest,
    client: Http3Client,
    headers: RequestHeaders,
  ): Promise<RelayedSession>;
}

/** A WebTransport session that another server answers. */
export interface RelayedSession {
  /** How it ended; no code when the connection of one side was lost. */
  readonly closed: Promise<{ closeCode: number | undefined; reason: string }>;
  /** Tells both sides to come to an end. */
  drain(): void;
  /** Closes it to both sides. */
  close(code: number, reason: string): void;
}
