import { constants, type SecureServerSessionOptions, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { isGone } from '@sheaf/native';
import { fullBucket } from '../values/token_bucket.js';

/** Bounds on the frames that a connection may send. Node ends the connection beyond them. */
export const sessionLimits = {
  maxOutstandingPings: 10,
  /** Settings in one SETTINGS frame */
  maxSettings: 32,
  // Both limits count streams beyond the maximum. A client that is told to open fewer streams (tcp_clients.ts) may
  // already have sent more.
  maxSessionInvalidFrames: 256,
  maxSessionRejectedStreams: 256,
} satisfies SecureServerSessionOptions;

/**
 * Bounds on streams that end by a reset from either side. A client that resets streams as soon as they are open makes
 * the gateway work for nothing (RFC 9113 §10.5). A browser that leaves a page cancels all requests in flight, which are
 * some hundreds.
 */
const resetsPerSecond = 50;
const resetsAtOnce = 500;

/** Milliseconds between two looks whether a client is gone */
const lookMs = 5_000;

/**
 * Ends a session that has no streams after `idleMs` of silence, and one with too many resets. Closes the socket of a session that is
 * over after at most two such times, and soon that of one whose client is gone.
 */
export function watchSession(session: ServerHttp2Session, socket: Socket, idleMs: number): void {
  const resets = fullBucket(resetsPerSecond, resetsAtOnce);
  let streams = 0;
  session.on('stream', (stream) => {
    streams += 1;
    stream.once('close', () => {
      streams -= 1;
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR && !resets.tryRemoveTokens(1) && !session.destroyed)
        session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    });
  });
  const check = (): void => {
    if (streams === 0) session.close();
    else session.setTimeout(idleMs, check);
  };
  session.setTimeout(idleMs, check);
  closeAtLast(socket, idleMs, () => session.destroyed || (session.closed && streams === 0));
}

/**
 * A session that is over waits for a client that takes none of its last frames. And one whose client is gone waits for ever when a
 * write failed before Node read the end of the connection: TLSWrap then completes no later write, and until one is complete the
 * session does not read (https://github.com/nodejs/node/issues/55804).
 */
function closeAtLast(socket: Socket, idleMs: number, isOver: () => boolean): void {
  const everyMs = Math.min(idleMs, lookMs);
  let overMs = 0;
  const timer = setInterval(() => {
    overMs = isOver() ? overMs + everyMs : 0;
    if (overMs > idleMs || isGone(socket)) socket.destroy();
  }, everyMs).unref();
  socket.once('close', () => clearInterval(timer));
}
