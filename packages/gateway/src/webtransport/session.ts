import type { ReadableStream, WritableStream } from 'node:stream/web';
import type { Logger } from 'pino';

export interface WebTransportCloseInfo {
  closeCode: number;
  reason: string;
}

export interface WebTransportBidirectionalStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

/**
 * The session that an application receives: an object of @fails-components/webtransport. These are
 * its members; that library's own types cannot be resolved by TypeScript's Node module rules.
 */
export interface WebTransportSession {
  readonly ready: Promise<void>;
  readonly closed: Promise<WebTransportCloseInfo>;
  readonly draining: Promise<undefined>;
  readonly incomingBidirectionalStreams: ReadableStream<WebTransportBidirectionalStream>;
  readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
  readonly datagrams: {
    readonly readable: ReadableStream<Uint8Array>;
    createWritable(): WritableStream<Uint8Array>;
    readonly maxDatagramSize: number;
  };
  createBidirectionalStream(options?: { waitUntilAvailable?: boolean }): Promise<WebTransportBidirectionalStream>;
  createUnidirectionalStream(options?: { waitUntilAvailable?: boolean }): Promise<WritableStream<Uint8Array>>;
  notifySessionDraining(): void;
  close(info?: WebTransportCloseInfo): void;
}

/** What an application may want to know about the session's request. */
export interface WebTransportContext {
  /** Path and query of the request. */
  readonly url: string;
  readonly authority: string;
  /** The page's origin; undefined for clients that are no browsers. */
  readonly origin: string | undefined;
  readonly remoteAddress: string;
  readonly log: Logger;
}

/** A user module's default export. The session goes on after it returned; a rejection closes the session. */
export type WebTransportApplication = (session: WebTransportSession, context: WebTransportContext) => void | Promise<void>;
