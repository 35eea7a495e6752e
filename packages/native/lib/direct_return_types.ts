import type { ExecutorStats } from './addon.js';

export type { ExecutorStats, OfferRefusal } from './addon.js';

/** Names a session of a gateway and a backend, of which both know this. */
export interface NodeSessionOptions {
  /** Counter of the sessions of both processes. Messages of another session are ignored. */
  session: number;
  /** Random id of this process, 8 bytes. */
  process: Uint8Array;
}

/**
 * The node that numbers the packets of a returned response, and sends again what is lost: the gateway, which orders each run of
 * packets, or the backend, on a path that the client lets it have.
 */
export type ReturnRecovery = 'gateway' | 'backend';

/** Seals grants for one backend. */
export interface SealsGrants {
  /** Returns a counter (6 bytes), the encrypted grant and a tag (16). Wipes the grant. Returns undefined after `close`. */
  seal(grant: Uint8Array): Buffer | undefined;
  /** Wipes the key. */
  close(): void;
}

/** A gateway's end of a session with a backend, which sends responses at its orders. */
export interface RunOrders {
  /** Ends the session. Responses that the backend sends lose it (`returnLost`). */
  close(): void;
}

/** The body of a response. */
export interface ReturnedPayload {
  /** Encoded head of the response (`encodeHead`). */
  head: Uint8Array;
  /** Number of bytes. */
  length: number;
  /**
   * Where the bytes are; undefined while they are to be appended. Memory is lent until the body is over, and must not change. A
   * file is read whenever bytes are sent: one that changes meanwhile ends the response.
   */
  from?: Uint8Array | FilePart | undefined;
  /** Time in milliseconds since the request came. A first packet is not sent long after that. */
  waited?: number;
}

/** Part of a file. */
export interface FilePart {
  /** Descriptor of the file, which stays the caller's. */
  descriptor: number;
  /** Position of the first byte in the file. */
  position: number;
}

/** A body that this node sends when its gateway orders it. */
export interface ReturnedBody {
  /**
   * Resolves when the body is over: the client has it, it failed, or the gateway wants no more of it. Resolves with the number of
   * bytes at its beginning that were sent at least once.
   */
  readonly over: Promise<number>;
  /** Whether `over` has resolved, or is about to. */
  readonly isOver: boolean;
  /**
   * Appends bytes, and lends them. Returns false when no more should be appended until there is room. A body that is over takes
   * anything and does nothing.
   */
  append(bytes: Uint8Array): boolean;
  /** Resolves when there is room, or the body is over. To be called once after `append` has returned false. */
  room(): Promise<void>;
  /** Says that the rest will never come. The gateway may go on from another node, or resets the response with this code of HTTP/3. */
  fail(code?: number): void;
}

/** A backend's end of a session with a gateway. */
export interface Executor {
  /**
   * Sends a body whenever the gateway orders it, for the stream that the grant names. A grant with a first packet lets this node
   * send that without an order, after what it writes now: answer with the head at once. Wipes the grant.
   * @throws QuicError `FOREIGN_ADDRESS` when no socket sends from where the grant says, `NO_ROOM` when this node sends as many responses or files
   *   or holds as many bytes as it may, or `GRANT_REFUSED` with another reason; nothing was accepted then
   */
  accept(grant: Uint8Array, payload: ReturnedPayload): ReturnedBody;
  /** Returns counts; undefined when the session has ended. */
  stats(): ExecutorStats | undefined;
  /** Ends the session, and wipes its keys. Its bodies are over. */
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
