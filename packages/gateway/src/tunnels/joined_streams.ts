import type { Socket } from 'node:net';
import type { TakenStream } from '../http/taken_stream.js';

/** Why a tunnel for TCP is over: both sides have ended, one has broken off, or nothing came for too long. */
export type JoinOver = 'ended' | 'stream' | 'socket' | 'idle';

/** The two directions of a stream of HTTP, and what ends it with an error because of the socket */
export interface JoinedStream extends Pick<TakenStream, 'incoming' | 'outgoing'> {
  abort(cause: 'target'): void;
}

/**
 * Carries bytes between a stream and a socket until both sides have ended. An end goes on to the other side, and so
 * does a reset (RFC 9114 §4.4, RFC 9113 §8.5). Calls `onOver` once.
 */
export function joinStreams(
  { incoming, outgoing, abort }: JoinedStream,
  socket: Socket,
  idleMs: number,
  onOver: (reason: JoinOver) => void,
): void {
  let over = false;
  const finish = (reason: JoinOver): boolean => {
    if (over) return false;
    over = true;
    onOver(reason);
    return true;
  };
  // What both have said is on its way to them.
  const onEnd = (): void => {
    if (incoming.readableEnded && socket.readableEnded && finish('ended')) destroyLater(outgoing, idleMs);
  };
  const onSocketLost = (): void => {
    if (finish('socket')) abort('target');
  };
  const onStreamClosed = (): void => {
    // A response over HTTP/3 closes when it is complete, whatever the other side still sends.
    const complete = socket.readableEnded && outgoing.writableFinished;
    const hears = !outgoing.destroyed || complete;
    const speaks = !incoming.destroyed || incoming.readableEnded;
    if ((hears && speaks) || !finish('stream')) return;
    // A connection of HTTP/1.1 closes in both directions. What it has sent is still delivered (RFC 9110 §9.3.6), and a
    // socket that is about to end cannot be reset.
    if (incoming.readableEnded) socket.destroySoon();
    else socket.resetAndDestroy();
  };
  incoming.once('end', onEnd);
  socket.once('end', onEnd).on('error', onSocketLost).once('close', onSocketLost);
  for (const each of new Set([incoming, outgoing])) each.on('error', onStreamClosed).once('close', onStreamClosed);
  socket.setTimeout(idleMs, () => {
    socket.destroy();
    // An end in order would say that the other side has sent everything.
    if (finish('idle')) abort('target');
  });
  incoming.pipe(socket);
  socket.pipe(outgoing);
}

/** Gives the other side only so long to take the rest of a tunnel that is over. */
function destroyLater(outgoing: TakenStream['outgoing'], idleMs: number): void {
  const timer = setTimeout(() => outgoing.destroy(), idleMs).unref();
  outgoing.once('close', () => clearTimeout(timer));
}
