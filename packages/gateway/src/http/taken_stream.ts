import type { Readable, Writable } from 'node:stream';
import type { GatewayRequest } from './exchange.js';

/**
 * A request whose stream becomes something else than its response: CONNECT, extended CONNECT of HTTP/2 (RFC 8441), or Upgrade of
 * HTTP/1.1 (RFC 9110 §7.8)
 */
export interface TakenStream {
  readonly request: GatewayRequest;
  /** Port of the client's address; undefined when a proxy has named the address */
  readonly port: number | undefined;
  /** Connection or session, which other streams may share */
  readonly carrier: object;
  readonly incoming: Readable;
  /** The stream is over when this closes. */
  readonly outgoing: Writable;
  /** Sends 100 (RFC 9110 §15.2.1). */
  confirm(): void;
  /** Sends the response with which the stream changes. */
  accept(headers: Fields): void;
  /** Sends another response, and ends the stream. */
  refuse(status: number, headers: Fields): void;
  /** Ends the stream with an error: because of the client, or because what it asked for cannot be reached. */
  abort(cause: 'client' | 'target'): void;
}

export type Fields = Readonly<Record<string, string>>;

/** Answers a request that takes its stream over. */
export type StreamTaker = (stream: TakenStream) => void;

/** By protocols; undefined: CONNECT without one (RFC 9110 §9.3.6) */
export type StreamTakers = Pick<ReadonlyMap<string | undefined, StreamTaker>, 'get' | 'has' | 'size'>;
