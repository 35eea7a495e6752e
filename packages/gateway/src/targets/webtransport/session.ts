import type { WebTransportSession } from '@sheaf/native';
import type { Logger } from 'pino';

export type { WebTransportBidirectionalStream, WebTransportCloseInfo, WebTransportSession } from '@sheaf/native';

/** Facts about the session's request that an application may need */
export interface WebTransportContext {
  /** Path and query of the request */
  readonly url: string;
  readonly authority: string;
  /** Origin of the page; undefined for clients that are not browsers */
  readonly origin: string | undefined;
  readonly remoteAddress: string;
  /** Whether a proxy passed the request on, so that the address is the proxy's */
  readonly forwarded: boolean;
  readonly log: Logger;
}

/**
 * The default export of a user's module. The session continues after it returned. An exception, a rejection, or a stray
 * error of the module closes the session.
 */
export type WebTransportApplication = (
  session: WebTransportSession,
  context: WebTransportContext,
) => void | Promise<void>;
