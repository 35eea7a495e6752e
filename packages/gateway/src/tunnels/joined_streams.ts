import type { Socket } from 'node:net';
import type { TakenStream } from '../http/taken_stream.js';

/** What a tunnel needs of the stream of its client */
export type JoinedStream = Pick<TakenStream, 'incoming' | 'outgoing' | 'abort'>;

/** Why a tunnel for TCP is over: both sides have ended, one has broken off, or nothing came for too long. */
export type JoinOver = 'ended' | 'client' | 'target' | 'idle';

/**
 * Carries bytes between the stream of a client and a target until both sides have ended. An end goes on to the other side, and so
 * does a reset (RFC 9114 §4.4, RFC 9113 §8.5). Calls `onOver` once.
 */
export function joinStreams(
  { incoming, outgoing, abort }: JoinedStream,
  target: Socket,
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
    if (incoming.readableEnded && target.readableEnded && finish('ended')) destroyLater(outgoing, idleMs);
  };
  const onTargetLost = (): void => {
    if (finish('target')) abort('target');
  };
  const onClientClosed = (): void => {
    // A response over HTTP/3 closes when it is complete, whatever the client still sends.
    const complete = target.readableEnded && outgoing.writableFinished;
    const hears = !outgoing.destroyed || complete;
    const speaks = !incoming.destroyed || incoming.readableEnded;
    if ((hears && speaks) || !finish('client')) return;
    // A connection of HTTP/1.1 closes in both directions. What the client has sent is still delivered (RFC 9110 §9.3.6), and a
    // socket that is about to end cannot be reset.
    if (incoming.readableEnded) target.destroySoon();
    else target.resetAndDestroy();
  };
  incoming.once('end', onEnd);
  target.once('end', onEnd).on('error', onTargetLost).once('close', onTargetLost);
  for (const each of new Set([incoming, outgoing])) each.on('error', onClientClosed).once('close', onClientClosed);
  target.setTimeout(idleMs, () => {
    target.destroy();
    // An end in order would say that the target has sent everything.
    if (finish('idle')) abort('target');
  });
  incoming.pipe(target);
  target.pipe(outgoing);
}

/** Gives a client only so long to take the rest of a tunnel that is over. */
function destroyLater(outgoing: TakenStream['outgoing'], idleMs: number): void {
  const timer = setTimeout(() => outgoing.destroy(), idleMs).unref();
  outgoing.once('close', () => clearTimeout(timer));
}
