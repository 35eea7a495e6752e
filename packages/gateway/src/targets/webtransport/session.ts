import type { WebTransportSession } from '@sheaf/native';
import type { Logger } from 'pino';

export type { WebTransportBidirectionalStream, WebTransportCloseInfo, WebTransportSession } from '@sheaf/native';

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

/**
 * A user module's default export. The session goes on after it returned. What it throws, rejects with, or leaves behind
 * as a stray error closes the session.
 */
export type WebTransportApplication = (
  session: WebTransportSession,
  context: WebTransportContext,
) => void | Promise<void>;
