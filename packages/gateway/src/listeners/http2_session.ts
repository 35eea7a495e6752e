import { constants, type SecureServerSessionOptions, type ServerHttp2Session } from 'node:http2';
import { TokenBucket } from './token_bucket.js';

/** What one connection may provoke; beyond it Node ends the connection. */
export const sessionLimits = {
  maxOutstandingPings: 10,
  /** In one SETTINGS frame. */
  maxSettings: 32,
  // Both count streams beyond the limit; a client that is told to open fewer (tcp_clients.ts) has more on the way.
  maxSessionInvalidFrames: 256,
  maxSessionRejectedStreams: 256,
} satisfies SecureServerSessionOptions;

/**
 * Streams that end by a reset, whoever sends it: a client that abandons them as soon as they are open, or makes the gateway
 * do so, has work done for nothing (RFC 9113 §10.5). A browser that leaves a page cancels what is in flight, some hundreds.
 */
const resetsPerSecond = 50;
const resetsAtOnce = 500;

/** Ends a session without streams after `idleMs` of silence, and one with too many resets. */
export function watchSession(session: ServerHttp2Session, idleMs: number): void {
  const resets = new TokenBucket(resetsPerSecond, resetsAtOnce);
  let streams = 0;
  session.on('stream', (stream) => {
    streams += 1;
    stream.once('close', () => {
      streams -= 1;
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR && !resets.take() && !session.destroyed)
        session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    });
  });
  const check = (): void => {
    if (streams === 0) session.close();
    else session.setTimeout(idleMs, check);
  };
  session.setTimeout(idleMs, check);
}
