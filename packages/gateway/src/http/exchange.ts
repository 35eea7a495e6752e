import type { Readable } from 'node:stream';
import type { ServedConnection } from '@sheaf/native';
import type { Credentials, StreamPriority } from '@sheaf/web-client/protocol';

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;
export type HttpVersion = '0.9' | '1.0' | '1.1' | '2' | '3';

/** A request, whatever HTTP version it came by. */
export interface GatewayRequest {
  readonly method: string;
  /** As received: path and query, or the absolute form of HTTP/1.1. */
  readonly url: string;
  /** Lower-case names, no pseudo-headers. */
  readonly headers: RequestHeaders;
  /** Host and port that the client asked for; empty when it named none. */
  readonly authority: string;
  readonly scheme: 'https' | 'http';
  readonly httpVersion: HttpVersion;
  readonly remoteAddress: string;
  /** Received in 0-RTT: may be a replay. */
  readonly early: boolean;
  /** The QUIC connection that brought it. */
  readonly connection?: ServedConnection;
  /** The connection or session that it shares with others, where it does. */
  readonly carrier?: object;
  /** How it travelled, for the log. */
  readonly carriedBy?: 'webtransport';
  /** Its order among the requester's others, where it was told in more than a `priority` field. */
  readonly priority?: StreamPriority;
  /** What a page wants it for (`Request.destination`). */
  readonly destination?: string;
  /** On requests of page sessions: what the browser knows of cookies and log-ins, which do not come along. */
  readonly credentials?: Credentials;
  readonly body: Readable;
  /** It is known that no body follows. */
  readonly bodyless?: boolean;
  /** Fields behind the body; known once it has ended. */
  readonly trailers?: () => RequestHeaders;
  /** The client waits for this word before it sends the body (`Expect: 100-continue`). */
  readonly confirm?: () => void;
  /** Of an extended CONNECT (RFC 9220). */
  readonly protocol?: string;
}

/** What Node's HTTP/1.1 and HTTP/2 responses and the native ones have in common. */
export interface GatewayResponse extends NodeJS.WritableStream {
  statusCode: number;
  readonly headersSent: boolean;
  /** The gateway has written the whole response. */
  readonly writableEnded: boolean;
  /** Bytes that the client has not taken yet. */
  readonly writableLength: number;
  /** Of HTTP/1.1: null while responses before this one are sent. */
  readonly socket?: unknown;
  /** `drain` will follow. */
  readonly writableNeedDrain?: boolean;
  /** Bytes to write next; waits while there is no memory for them. Who reads a body from somewhere asks before it reads. */
  room?(): number | Promise<number>;
  /** A Buffer of so many bytes to write once, whose memory serves again when the client has them. */
  takeBuffer?(bytes: number): Buffer;
  setHeader(name: string, value: number | string | string[]): unknown;
  getHeader(name: string): number | string | string[] | undefined;
  removeHeader(name: string): void;
  /** Sends an interim response, where the version and the client can have one. */
  writeInformational?(status: number, headers: Readonly<Record<string, string | string[]>>): void;
  /** Fields behind the body, where there can be any. */
  addTrailers?(trailers: Readonly<Record<string, string | string[]>>): void;
  /** Resets the stream, or closes the connection of HTTP/1.1. */
  destroy(error?: Error): unknown;
}

/** One request with its response, on its way through the gateway. */
export interface Exchange {
  readonly request: GatewayRequest;
  readonly response: GatewayResponse;
  /** Path in a normal form: without dot segments, unreserved characters decoded. */
  readonly pathname: string;
  /** Query with its question mark, or empty. */
  readonly search: string;
  /** The part of the path behind the route's prefix, without double slashes; starts with a slash. */
  readonly rest: string;
  /** The client lost interest. */
  readonly aborted: boolean;
  /** Aborted at that moment. */
  readonly signal: AbortSignal;
  /** Server-Timing entry: how long the request has been here. */
  timing(): string;
  /** Bytes of the response's body so far. */
  bytesSent: number;
  /** Bytes of the request's body that were read so far. */
  bytesReceived: number;
  /** Set while somebody waits for more of the request's body: makes it fail. */
  waitForBody?: ((error: Error) => void) | undefined;
}

/** What a route leads to. `handle` settles when the response is complete or was abandoned. */
export interface Target {
  handle(exchange: Exchange): Promise<void>;
  /** Answers everybody alike: neither cookies nor `Authorization` change a response. */
  readonly ignoresCredentials?: boolean;
  /** Gets ready; returns warnings about what does not work yet. */
  start?(): Promise<string[]>;
  /** Brings up to date what the status says. */
  refresh?(): Promise<void>;
  close?(): Promise<void>;
}

/** Size of the headers; each counts 32 bytes beside its text (RFC 9113 §6.5.2). */
export function headerBytes(headers: RequestHeaders): number {
  let bytes = 0;
  for (const name in headers) {
    const value = headers[name];
    const values = Array.isArray(value) ? value : [value ?? ''];
    for (const item of values) bytes += name.length + item.length + 32;
  }
  return bytes;
}

/** The single value of a header; several lines are joined as RFC 9110 §5.3 says. */
export function headerValue(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** RFC 9110 §10.1.1. */
export function expectsContinue(headers: RequestHeaders): boolean {
  return headerValue(headers, 'expect')?.toLowerCase() === '100-continue';
}
