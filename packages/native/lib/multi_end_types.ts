import type { SocketAddress } from './address.js';

/**
 * Keys that protect the packets between a backend and its client: those of their path alone, or those of the whole
 * connection (docs/internals/keys.md).
 */
export type BackendKeyMode = 'per-path' | 'shared';

/** `drains`: requests in flight finish, and no new ones are sent. `gone`: requests in flight fail at once. */
export type BackendWithdrawal = 'drains' | 'gone';

/** QuicError `errorCode` of a request whose backend is gone (docs/reference/wire.md); its `code` is `BACKEND_LOST`. */
export const BACKEND_LOST = 0x5ea0;

/** Connection-level flow control credit of a backend, in bytes; totals since the hand-over. */
export interface BackendLease {
  /** Credit that the primary gave. */
  granted: number;
  /** Credit that the backend gave back. */
  returned: number;
  /** Bytes that the backend may still send; known to the backend alone. */
  left?: number;
}

/** One backend as the side knows it that reports it. */
export interface BackendStatus {
  /** Number of the backend in the connection, 0 to 63. */
  backend: number;
  /** Id of its path. */
  path: number;
  /** IP address where the client reaches it. */
  address: string;
  /** UDP port where the client reaches it. */
  port: number;
  /**
   * Primary: `handed-over`, `offered` or `withdrawn`. Client: `offered`, then `opening` and `open`, `withdrawn` while
   * what is in flight finishes. Backend: `serving` or `draining`. All: `abandoned`.
   */
  state: 'handed-over' | 'offered' | 'opening' | 'open' | 'serving' | 'draining' | 'withdrawn' | 'abandoned';
  /** Smoothed round-trip time of its path in milliseconds; 0 at the primary, which does not see the path. */
  smoothedRttMs: number;
  /** Bytes that were sent on its path; 0 at the primary. */
  bytesSent: number;
  /** Bytes that were received on its path; 0 at the primary. */
  bytesReceived: number;
  /** Credit of the backend; undefined at the client. */
  lease?: BackendLease;
}

/** Events of a connection at its primary, the server that made the handshake. */
export interface ServerConnectionEvents {
  /** Hand-overs are possible: the client offers Multi-End, and its connection ids for paths have arrived. */
  multiEndReady: [];
  /** A message for `receivePrimaryMessage` of the backend. It may be lost or repeated on its way. */
  backendMessage: [backend: number, message: Buffer];
  /** Either side abandoned the path of a backend; the backend has to `forget` the connection. */
  backendPathAbandoned: [backend: number, errorCode: number];
  /** The connection is over; with an error unless a side closed it in order. */
  close: [error: Error | undefined];
}

/** A connection at its primary. @throws QuicError `BACKEND_REFUSED`, `NO_MULTI_END` */
export interface BackendControl {
  /** True once hand-overs are possible: `multiEndReady` was emitted. */
  readonly multiEnd: boolean;
  /**
   * Hands a path over. Returns the connection's state for that path with its keys, which must be sealed on the way to the backend
   * and wiped here. Call `offerBackend` once the backend has imported it.
   * @param backend number of the backend in this connection, 0 to 63; it is free again once the backend is withdrawn or gone
   * @param address address where the client reaches the backend
   */
  handOver(backend: number, address: SocketAddress): Buffer;
  /** Offers the backend to the client, which may open the path. */
  offerBackend(backend: number): void;
  /** Takes the offer back. */
  withdrawBackend(backend: number, how: BackendWithdrawal): void;
  /**
   * Processes a `primaryMessage` of the backend.
   * @throws QuicError `BACKEND_MESSAGE` for one that no backend writes: its sender is not to be trusted
   */
  receiveBackendMessage(backend: number, message: Uint8Array): void;
}

/** Events of a connection at a backend. */
export interface ImportedConnectionEvents {
  /** A message for `receiveBackendMessage` of the primary. It may be lost or repeated on its way. */
  primaryMessage: [message: Buffer];
  /** After `drain`: no request is left, and the rest of the credit was given back. */
  drained: [];
  /** The connection is over here: the client closed it or fell silent, or `forget` was called. */
  close: [error: Error | undefined];
}

/** Backend that an event is about. */
export interface BackendEventSubject {
  /** Number of the backend in the connection, 0 to 63. */
  backend: number;
  /** Id of its path. */
  path: number;
}

/** Offer of a backend. */
export interface BackendOffer extends BackendEventSubject {
  /** IP address of the backend. */
  address: string;
  /** UDP port of the backend. */
  port: number;
}

/** Withdrawal of a backend. */
export interface WithdrawnBackend extends BackendEventSubject {
  /** Fate of the requests in flight. */
  reason: BackendWithdrawal;
}

/** Loss of a backend. */
export interface LostBackend extends BackendEventSubject {
  /** Error code of the abandoned path (RFC 10069). */
  errorCode: number;
}

/** Events of a client about backends. */
export interface BackendEvents {
  /** The primary names a server that `openBackend` reaches. */
  backendOffered: [offer: BackendOffer];
  /** The primary takes the offer of a backend back. */
  backendWithdrawn: [withdrawal: WithdrawnBackend];
  /** The backend has answered on its path: requests can go there. */
  backendPathOpen: [opened: BackendEventSubject];
  /** The path of a backend is abandoned, and its requests in flight have failed with {@link BACKEND_LOST}. */
  backendLost: [lost: LostBackend];
  /** No path to the primary works any more; those to backends do. */
  primaryLost: [];
}

/** Address that a path to a backend begins at. */
export interface OpenBackendOptions {
  /** IP address of this host. Default: the connection's own socket. */
  local?: string;
  /** UDP port of this host. Default: a free one. */
  localPort?: number;
}
