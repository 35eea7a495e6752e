import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { ServedConnection } from '@sheaf/native';
import type { Credentials, StreamPriority } from '@sheaf/web-client/protocol';
import type { Delivered } from './delivered.js';
import type { RequestTrace } from './request_trace.js';

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;
export type HttpVersion = '0.9' | '1.0' | '1.1' | '2' | '3';

/** A request of any HTTP version */
export interface GatewayRequest {
  readonly method: string;
  /** Request target as received: path and query, or the absolute form of HTTP/1.1 */
  readonly url: string;
  /** Fields with names in lower case, without pseudo-headers */
  readonly headers: RequestHeaders;
  /** Host and port that the client asked for; empty when the request names none */
  readonly authority: string;
  readonly scheme: 'https' | 'http';
  readonly httpVersion: HttpVersion;
  readonly remoteAddress: string;
  /** Address of the proxy that brought the request, where `remoteAddress` is what it told */
  readonly peerAddress?: string;
  /** Whether the request came in 0-RTT, so that it may be a replay */
  readonly early: boolean;
  /** Whether another node of the site passed the request on, over the backbone */
  readonly passedOn?: boolean;
  /** QUIC connection that the request came on */
  readonly connection?: ServedConnection;
  /** Whether another node accepted the connection, and handed a path of it over to this one */
  readonly handedOver?: boolean;
  /** Connection or session that the request shares with others, if it does */
  readonly carrier?: object;
  /** How the request was carried, for the log */
  readonly carriedBy?: 'webtransport';
  /** Order of the request among its requester's others, if the client told more than a `priority` field does */
  readonly priority?: StreamPriority;
  /** Purpose that a page has for the resource (`Request.destination`) */
  readonly destination?: string;
  /** On requests of page sessions: what the browser knows of cookies and log-ins, which the requests themselves lack */
  readonly credentials?: Credentials;
  readonly body: Readable;
  /** Whether it is known that no body follows */
  readonly bodyless?: boolean;
  /** Returns the fields behind the body, which are known once the body has ended. */
  readonly trailers?: () => RequestHeaders;
  /** Tells a client that waits for it to send the body (`Expect: 100-continue`). */
  readonly confirm?: () => void;
  /** `:protocol` of an extended CONNECT (RFC 9220) */
  readonly protocol?: string;
}

/** The common part of Node's HTTP/1.1 and HTTP/2 responses and of the native ones */
export interface GatewayResponse extends NodeJS.WritableStream {
  statusCode: number;
  readonly headersSent: boolean;
  /** Whether the gateway has written the whole response */
  readonly writableEnded: boolean;
  /** Bytes that the client has not taken yet */
  readonly writableLength: number;
  /** On HTTP/1.1: null while earlier responses of the connection are sent */
  readonly socket?: unknown;
  /** Whether `drain` will follow */
  readonly writableNeedDrain?: boolean;
  /**
   * Returns the number of bytes to write next, and waits while there is no memory for them. Targets that copy a body
   * from a source ask before they read.
   */
  room?(): number | Promise<number>;
  /** Returns a Buffer of this size to write once. Its memory is used again when the client has the bytes. */
  takeBuffer?(bytes: number): Buffer;
  setHeader(name: string, value: number | string | string[]): unknown;
  getHeader(name: string): number | string | string[] | undefined;
  removeHeader(name: string): void;
  /** Sends an interim response, if the HTTP version and the client allow it. */
  writeInformational?(status: number, headers: Readonly<Record<string, string | string[]>>): void;
  /** Adds fields behind the body, if the HTTP version allows it. */
  addTrailers?(trailers: Readonly<Record<string, string | string[]>>): void;
  /** Present when the body may go past the response */
  taker?: BodyTaker;
  /** Resets the stream, or closes the connection of HTTP/1.1. */
  destroy(error?: Error): unknown;
}

/**
 * Sends bodies past their responses: from the address of a gateway, which sends none of them. Status and headers of the response
 * are set, and not sent. Each call resolves with false at once when the response has to send the body itself, which is the
 * caller's then. Otherwise it resolves when the client has the body or wants no more of it, and counts its bytes.
 */
export interface BodyTaker {
  /** Takes bytes of an open file, and closes the file. */
  takeFile(exchange: Exchange, file: FileHandle, range: { start: number; end: number }): Promise<boolean>;
  /** Takes bytes that do not change any more. */
  takeBytes(exchange: Exchange, bytes: Buffer): Promise<boolean>;
  /**
   * Takes a stream with this number of bytes, which is undefined when it is not known. Rejects when the stream fails, or has more
   * or fewer bytes.
   */
  takeStream(exchange: Exchange, source: Readable, length: number | undefined): Promise<boolean>;
}

/** A body that goes past its response */
export interface TakenBody {
  /** Whether it waits for the client to take bytes */
  readonly waits: boolean;
  /** Ends it before all of it was sent. */
  end(): void;
}

/** One request with its response, while the gateway handles it */
export interface Exchange {
  readonly request: GatewayRequest;
  readonly response: GatewayResponse;
  /** Path in its normal form: without dot segments, with unreserved characters decoded */
  readonly pathname: string;
  /** Query with its question mark, or an empty string */
  readonly search: string;
  /** Part of the path behind the route's prefix, without double slashes. It starts with a slash. */
  readonly rest: string;
  /** Whether the client has abandoned the request */
  readonly aborted: boolean;
  /** Signal that aborts when the client abandons the request */
  readonly signal: AbortSignal;
  /** Calls `listener` when the client abandons the request. Returns a function that revokes this. Costs less than a signal. */
  whenAborted(listener: () => void): () => void;
  /** Returns entries of Server-Timing: the time since the request arrived, and how the response travels. */
  timing(): string;
  /** Bytes of the response body that were sent so far */
  bytesSent: number;
  /** Bytes of the request body that were read so far */
  bytesReceived: number;
  /** Place of the request in a trace, where the node traces requests */
  readonly trace?: RequestTrace | undefined;
  /** How the response of a backend travels, on a route to backends */
  delivered?: Delivered | undefined;
  /** The body that goes past the response, while its bytes come from another server */
  taken?: TakenBody | undefined;
  /** Makes the wait for the request body fail. It is set while a target waits for more of the body. */
  waitForBody?: ((error: Error) => void) | undefined;
}

/** The target of a route. `handle` settles when the response is complete or was abandoned. */
export interface Target {
  handle(exchange: Exchange): Promise<void>;
  /**
   * Handles an exchange without a promise, where that is possible and saves work. Returns false when `handle` is to be called
   * instead. Otherwise calls `ended` once, when `handle` would settle, with the error if there is one.
   */
  begin?(exchange: Exchange, ended: (error?: unknown) => void): boolean;
  /** Whether all clients get the same responses: neither cookies nor `Authorization` change one */
  readonly ignoresCredentials?: boolean;
  /** Gets ready. Returns warnings about parts that do not work yet. */
  start?(): Promise<string[]>;
  /** Updates the state that `/status` reports. */
  refresh?(): Promise<void>;
  close?(): Promise<void>;
}

/** Returns the size of the headers. Each field counts 32 bytes beside its text (RFC 9113 §6.5.2). */
export function headerBytes(headers: RequestHeaders): number {
  let bytes = 0;
  for (const name in headers) {
    const value = headers[name];
    const values = Array.isArray(value) ? value : [value ?? ''];
    for (const item of values) bytes += name.length + item.length + 32;
  }
  return bytes;
}

/** Returns the value of a header. Several lines are joined into one (RFC 9110 §5.3). */
export function headerValue(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Returns whether the client waits for 100 before it sends the body (RFC 9110 §10.1.1). */
export function expectsContinue(headers: RequestHeaders): boolean {
  return headerValue(headers, 'expect')?.toLowerCase() === '100-continue';
}
