import type { SocketAddress } from './address.js';

/**
 * How a backend and its client protect their packets: with keys of their path alone, or with those of the whole connection
 * (docs/internals/keys.md).
 */
export type BackendKeyMode = 'per-path' | 'shared';

/** `drains`: no new requests, those in flight finish. `gone`: requests in flight fail at once. */
export type BackendWithdrawal = 'drains' | 'gone';

/** QuicError `errorCode` of a request whose backend is gone (docs/reference/wire.md); its `code` is `BACKEND_LOST`. */
export const BACKEND_LOST = 0x5ea0;

/** Connection-level flow control credit of a backend, in bytes, totals since the hand-over. */
export interface BackendLease {
  granted: number;
  returned: number;
  /** What it may still send; known to the backend alone. */
  left?: number;
}

/** One backend as the asked side knows it. */
export interface BackendStatus {
  backend: number;
  path: number;
  address: string;
  port: number;
  /**
   * Primary: `handed-over`, `offered` or `withdrawn`. Client: `offered`, then `opening` and `open`, `withdrawn` while
   * what is in flight finishes. Backend: `serving` or `draining`. All: `abandoned`.
   */
  state: 'handed-over' | 'offered' | 'opening' | 'open' | 'serving' | 'draining' | 'withdrawn' | 'abandoned';
  /** Of its path; 0 at the primary, which hears nothing of it, as the next two. */
  smoothedRttMs: number;
  bytesSent: number;
  bytesReceived: number;
  /** Primary and backend. */
  lease?: BackendLease;
}

/** Events of a connection at the server that shook hands. */
export interface ServerConnectionEvents {
  /** The client speaks Multi-End, and its connection ids for paths are here: hand-overs are possible from now on. */
  multiEndReady: [];
  /** To be carried to the backend, for its `receivePrimaryMessage`. May be lost or repeated. */
  backendMessage: [backend: number, message: Buffer];
  /** The path of a backend is abandoned, by either side: the backend is to `forget` the connection. */
  backendPathAbandoned: [backend: number, errorCode: number];
  /** The connection is gone, for whatever reason. */
  close: [error: Error | undefined];
}

/** A connection at its primary. @throws QuicError `BACKEND_REFUSED`, `NO_MULTI_END` */
export interface BackendControl {
  /** Both sides speak Multi-End and hand-overs are possible: `multiEndReady` was told. */
  readonly multiEnd: boolean;
  /**
   * Gives a path away. The result is the connection's state for that path, keys included: to be sealed to the backend, and
   * wiped. The backend imports it; then comes `offerBackend`.
   * @param backend names the backend in this connection, 0 to 63; again once it is withdrawn or gone
   * @param address where the client reaches the backend
   */
  handOver(backend: number, address: SocketAddress): Buffer;
  /** Tells the client, which may open the path. */
  offerBackend(backend: number): void;
  withdrawBackend(backend: number, how: BackendWithdrawal): void;
  /**
   * A `primaryMessage` of the backend.
   * @throws QuicError `BACKEND_MESSAGE` for one that no backend writes: who sent it is not to be trusted
   */
  receiveBackendMessage(backend: number, message: Uint8Array): void;
}

export interface ImportedConnectionEvents {
  /** To be carried to the primary, for its `receiveBackendMessage`. May be lost or repeated. */
  primaryMessage: [message: Buffer];
  /** After `drain`: no request is left, and what remained of the credit is given back. */
  drained: [];
  /** It is gone here: the client closed it, or was not heard of, or `forget` was called. */
  close: [error: Error | undefined];
}

/** Client's side. @throws QuicError `BACKEND_REFUSED`, `NO_MULTI_END` */
export interface BackendEvents {
  /** The primary names a server that `openBackend` reaches. */
  backendOffered: [offer: { backend: number; path: number; address: string; port: number }];
  backendWithdrawn: [withdrawal: { backend: number; path: number; reason: BackendWithdrawal }];
  /** The backend has answered on its path: requests can go there. */
  backendPathOpen: [opened: { backend: number; path: number }];
  /** Its path is abandoned, and requests that were in flight have failed with {@link BACKEND_LOST}. */
  backendLost: [lost: { backend: number; path: number; errorCode: number }];
  /** No path to the primary answers any more; backends do. */
  primaryLost: [];
}

export interface OpenBackendOptions {
  /** IP address of this host; default: the connection's own socket. */
  local?: string;
  /** Default: one that is free. */
  localPort?: number;
}
