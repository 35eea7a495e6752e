import type { ExecutorStats } from './addon.js';

export type { ExecutorStats, OfferRefusal } from './addon.js';

/** Names a session of a gateway and a backend, of which both know this. */
export interface NodeSessionOptions {
  /** Counter of the sessions of both processes. Messages of another session are ignored. */
  session: number;
  /** Random id of this process, 8 bytes. */
  process: Uint8Array;
}

/** A gateway's end of a session with a backend, which sends responses at its orders. */
export interface RunOrders {
  /** Ends the session. Responses that the backend sends lose it (`returnLost`). */
  close(): void;
}

/** Part of a file that is the body of a response. */
export interface FilePayload {
  /** Offset of its first byte in the response's stream (`framedHeadSize`). */
  start: number;
  /** Descriptor of the file, which stays the caller's. The file must not change while it is sent. */
  descriptor: number;
  /** Position of the first byte in the file. */
  position: number;
  /** Number of bytes. */
  length: number;
}

/** A backend's end of a session with a gateway. */
export interface Executor {
  /**
   * Sends part of a file whenever the gateway orders it, for the stream that the grant names. Wipes the grant.
   * @throws QuicError `GRANT_REFUSED` with the reason; nothing was accepted then
   */
  accept(grant: Uint8Array, payload: FilePayload): void;
  /** Returns counts; undefined when the session has ended. */
  stats(): ExecutorStats | undefined;
  /** Ends the session, and wipes its keys. */
  close(): void;
}

/** Why a backend sends nothing more of a response that was handed off to it. */
export interface ReturnLost {
  /**
   * `silent`: nothing was heard of it for 600 ms. `unreachable`: it sends, and nothing reaches the client. `failed`: it says so.
   * `gone`: it, or the session with it, ended. `paths`: the client opened a second path, or abandoned the first.
   */
  reason: 'silent' | 'unreachable' | 'failed' | 'gone' | 'paths';
  /** Error code of HTTP/3 of a backend that failed. */
  code: number;
  /** The client has all bytes of the stream before this offset. */
  acknowledged: number;
}
