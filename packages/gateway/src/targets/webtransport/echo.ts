import type { ReadableStream } from 'node:stream/web';
import type { WebTransportBidirectionalStream, WebTransportSession } from './session.js';

/**
 * Sends everything back: a bidirectional stream on itself, a unidirectional one on a new one, a
 * datagram as a datagram. Ends with the session, whose close the transport answers.
 */
export async function echo(session: WebTransportSession): Promise<void> {
  await Promise.all([
    forEach(session.incomingBidirectionalStreams, echoBidirectional),
    forEach(session.incomingUnidirectionalStreams, (stream) => echoUnidirectional(session, stream)),
    quietly(session.datagrams.readable.pipeTo(session.datagrams.createWritable())),
  ]);
}

/** `pipeTo` carries back-pressure, the end and resets from one half to the other. */
function echoBidirectional({ readable, writable }: WebTransportBidirectionalStream): Promise<void> {
  return quietly(readable.pipeTo(writable));
}

async function echoUnidirectional(session: WebTransportSession, readable: ReadableStream<Uint8Array>): Promise<void> {
  try {
    await readable.pipeTo(await session.createUnidirectionalStream({ waitUntilAvailable: true }));
  } catch (error) {
    // No stream to answer on, or either side reset its own: the other streams go on.
    await quietly(readable.locked ? Promise.resolve() : readable.cancel(error));
  }
}

/** Runs `act` for every item without waiting for it, until the stream ends with its session. */
async function forEach<Item>(stream: ReadableStream<Item>, act: (item: Item) => Promise<void>): Promise<void> {
  try {
    for await (const item of stream) void act(item);
  } catch {
    // The session was lost; `session.closed` tells why to whoever asks.
  }
}

/** Resets and lost sessions end an echo; they are no fault of it. */
function quietly(work: Promise<void>): Promise<void> {
  return work.catch(() => undefined);
}
