import type { ServedConnection, SocketAddress } from './types.js';

/**
 * How an end and its client protect their packets: with keys of their path alone, or with those of the whole connection
 * (docs/multi-end-keys.md).
 */
export type EndKeyMode = 'per-path' | 'shared';

/** `drains`: no new requests, those under way finish. `gone`: requests under way fail at once. */
export type EndWithdrawal = 'drains' | 'gone';

/** QuicError `errorCode` of a request whose end is gone (docs/wire.md); its `code` is `END_LOST`. */
export const END_LOST = 0x5ea0;

/** Connection-level flow control credit of an end, in bytes, totals since the hand-over. */
export interface EndLease {
  granted: number;
  returned: number;
  /** What it may still send; known to the end alone. */
  left?: number;
}

/** One end as the asked side knows it. */
export interface EndStatus {
  end: number;
  path: number;
  address: string;
  port: number;
  /**
   * Primary: `handed-over`, `offered` or `withdrawn`. Client: `offered`, then `opening` and `open`, `withdrawn` while
   * what is under way finishes. End: `serving` or `draining`. All: `abandoned`.
   */
  state: 'handed-over' | 'offered' | 'opening' | 'open' | 'serving' | 'draining' | 'withdrawn' | 'abandoned';
  /** Of its path; 0 at the primary, which hears nothing of it, as the next two. */
  smoothedRttMs: number;
  bytesSent: number;
  bytesReceived: number;
  /** Primary and end. */
  lease?: EndLease;
}

/** Events of a connection at the server that shook hands. */
export interface ServerConnectionEvents {
  /** The client speaks Multi-End, and its connection ids for paths are here: hand-overs are possible from now on. */
  multiEndReady: [];
  /** To be carried to the end, for its `receivePrimaryMessage`. May be lost or repeated. */
  endMessage: [end: number, message: Buffer];
  /** The path of an end is given up, by either side: the end is to `forget` the connection. */
  endPathAbandoned: [end: number, errorCode: number];
  /** The connection is gone, for whatever reason. */
  close: [error: Error | undefined];
}

/** A connection at its primary. @throws QuicError `END_REFUSED`, `NO_MULTI_END` */
export interface EndControl {
  /** Both sides speak Multi-End and hand-overs are possible: `multiEndReady` was told. */
  readonly multiEnd: boolean;
  /**
   * Gives a path away. The result is the connection's state for that path, keys included: to be sealed to the end, and
   * wiped. The end imports it; then comes `offerEnd`.
   * @param end names the end in this connection, 0 to 63; again once it is withdrawn or gone
   * @param address where the client reaches the end
   */
  handOver(end: number, address: SocketAddress): Buffer;
  /** Tells the client, which may open the path. */
  offerEnd(end: number): void;
  withdrawEnd(end: number, how: EndWithdrawal): void;
  /**
   * A `primaryMessage` of the end.
   * @throws QuicError `END_MESSAGE` for one that no end writes: who sent it is not to be trusted
   */
  receiveEndMessage(end: number, message: Uint8Array): void;
}

export interface ImportedConnectionEvents {
  /** To be carried to the primary, for its `receiveEndMessage`. May be lost or repeated. */
  primaryMessage: [message: Buffer];
  /** After `drain`: no request is left, and what remained of the credit is given back. */
  drained: [];
  /** It is gone here: the client closed it, or was not heard of, or `forget` was called. */
  close: [error: Error | undefined];
}

/**
 * A connection that another server handed a path of over. Its requests come with the server's `request` event, and
 * `request.connection` is this object.
 */
export interface ImportedConnection
  extends ServedConnection,
    NodeJS.EventEmitter<{ [K in keyof ImportedConnectionEvents]: ImportedConnectionEvents[K] }> {
  /** @throws QuicError `END_MESSAGE` for one that no primary writes */
  receivePrimaryMessage(message: Uint8Array): void;
  /** Refuses new requests, so that the client may send them elsewhere, and gives credit back when the last one is done. */
  drain(): void;
  /** Ends it here without a word to the client. */
  forget(): void;
}

/** Client's side. @throws QuicError `END_REFUSED`, `NO_MULTI_END` */
export interface EndEvents {
  /** The primary names a server that `openEnd` reaches. */
  endOffered: [offer: { end: number; path: number; address: string; port: number }];
  endWithdrawn: [withdrawal: { end: number; path: number; reason: EndWithdrawal }];
  /** The end has answered on its path: requests can go there. */
  endPathOpen: [opened: { end: number; path: number }];
  /** Its path is given up, and requests that were under way have failed with {@link END_LOST}. */
  endLost: [lost: { end: number; path: number; errorCode: number }];
  /** No path to the primary answers any more; ends do. */
  primaryLost: [];
}

export interface OpenEndOptions {
  /** IP address of this host; default: the connection's own socket. */
  local?: string;
  /** Default: one that is free. */
  localPort?: number;
}
