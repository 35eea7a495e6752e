import type { SocketAddress } from './address.js';
import type { HeaderMap, RequestHeaders } from './header_types.js';
import type { StreamPriority } from './stream_priority.js';

/** How a session ended (RFC 9297 capsule CLOSE_WEBTRANSPORT_SESSION). */
export interface WebTransportCloseInfo {
  /** Code of the application, 0 to 2^32 - 1. */
  closeCode: number;
  /** Text of the application, at most 1,024 bytes of UTF-8. */
  reason: string;
}

/** A bidirectional stream of the W3C interface, with two methods beyond it. */
export interface WebTransportBidirectionalStream {
  /** Bytes from the peer. */
  readonly readable: ReadableStream<Uint8Array>;
  /** Bytes to the peer. */
  readonly writable: WritableStream<Uint8Array>;
  /** Sets the priority of the bytes that this side sends. */
  setPriority(priority: StreamPriority): void;
  /** Announces the total number of bytes that this side will send, for schedulers that look at what remains. */
  setExpectedBytes(bytes: number): void;
}

/** A unidirectional stream to the peer, of the W3C interface, with a method beyond it. */
export interface WebTransportSendStream extends WritableStream<Uint8Array> {
  /** Sets the priority of the bytes that this side sends. */
  setPriority(priority: StreamPriority): void;
}

/** Datagrams of a session. */
export interface WebTransportDatagrams {
  /** Datagrams from the peer. At most 256 of them and 256 KiB wait for the reader; then the oldest are dropped. */
  readonly readable: ReadableStream<Uint8Array>;
  /** Datagrams to the peer; every reader of this property gets the same stream. A write waits while 512 KiB wait to be sent. */
  readonly writable: WritableStream<Uint8Array>;
  /** Makes another stream of datagrams to the peer. */
  createWritable(): WritableStream<Uint8Array>;
  /** Maximum size of a datagram, in bytes. */
  readonly maxDatagramSize: number;
  /** Counts the session's datagrams so far. The W3C interface has no such method. */
  counts(): WebTransportDatagramCounts;
}

/** Numbers of a session's datagrams. */
export interface WebTransportDatagramCounts {
  /** Datagrams that were sent. */
  sent: number;
  /** Sent datagrams that the peer acknowledged. */
  acknowledged: number;
  /** Sent datagrams that were declared lost; one that is acknowledged later counts as both. */
  lost: number;
  /** Relayed datagrams that were dropped because the queue was full. */
  expired: number;
  /** Received datagrams that were dropped because nobody read them. */
  dropped: number;
}

/**
 * A session in the form of the W3C WebTransport interface (https://www.w3.org/TR/webtransport/). `closed` resolves
 * however the session ends, and the incoming streams end with it. A stream of a session that is over fails with a
 * WebTransportError whose `source` is `session`. A stream that the peer reset or stopped fails with one that has the peer's
 * `streamErrorCode`.
 */
export interface WebTransportSession {
  /** Resolves once the session is open. */
  readonly ready: Promise<void>;
  /** Resolves with code and reason once the session is over. */
  readonly closed: Promise<WebTransportCloseInfo>;
  /** Resolves once the peer asks to wind the session down. */
  readonly draining: Promise<undefined>;
  /** Bidirectional streams that the peer opens. */
  readonly incomingBidirectionalStreams: ReadableStream<WebTransportBidirectionalStream>;
  /** Unidirectional streams that the peer opens. */
  readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
  /** Datagrams of the session. */
  readonly datagrams: WebTransportDatagrams;
  /**
   * Opens a bidirectional stream. Rejects with a `QuotaExceededError` while the peer allows no more streams; with
   * `waitUntilAvailable` it waits instead.
   */
  createBidirectionalStream(options?: { waitUntilAvailable?: boolean }): Promise<WebTransportBidirectionalStream>;
  /** Opens a unidirectional stream; rejects and waits like `createBidirectionalStream`. */
  createUnidirectionalStream(options?: { waitUntilAvailable?: boolean }): Promise<WebTransportSendStream>;
  /** Asks the peer to wind the session down. */
  notifySessionDraining(): void;
  /** Closes the session; code and reason default to 0 and empty. */
  close(info?: Partial<WebTransportCloseInfo>): void;
}

/** A request for a session (extended CONNECT). Exactly one of `accept` and `reject` must be called. */
export interface WebTransportRequest {
  /** Path and query. */
  readonly url: string;
  /** Host and port that the client asked for. */
  readonly authority: string;
  /** Origin of the page that asks; undefined outside of browsers. */
  readonly origin: string | undefined;
  /** Fields of the request. */
  readonly headers: HeaderMap;
  /** Address of the client. */
  readonly remoteAddress: SocketAddress;
  /** Answers 200 with these fields, such as `wt-protocol`. @throws QuicError `SESSION_REFUSED` when the request is gone */
  accept(headers?: RequestHeaders): WebTransportSession;
  /** Answers with this status instead. */
  reject(status: number): void;
}

/** How a relayed session ended. */
export interface RelayedSessionEnd {
  /** Code of the application; undefined when the connection of one side was lost. */
  closeCode: number | undefined;
  /** Text of the application. */
  reason: string;
}

/** A WebTransport session that another server serves. */
export interface RelayedSession {
  /** Resolves once the session is over. */
  readonly closed: Promise<RelayedSessionEnd>;
  /** Asks both sides to wind the session down. */
  drain(): void;
  /** Closes the session to both sides. */
  close(code: number, reason: string): void;
}
