import type { ReadableStream } from 'node:stream/web';
import type { WebTransportBidirectionalStream, WebTransportSession } from './session.js';

/**
 * Sends everything back: a bidirectional stream on itself, a unidirectional stream on a new one, and a datagram as a
 * datagram. Ends with the session, whose close the transport answers.
 */
export async function echo(session: WebTransportSession): Promise<void> {
  await Promise.all([
    forEach(session.incomingBidirectionalStreams, echoBidirectional),
    forEach(session.incomingUnidirectionalStreams, (stream) => echoUnidirectional(session, stream)),
    quietly(session.datagrams.readable.pipeTo(session.datagrams.createWritable())),
  ]);
}

/** Echoes one stream. `pipeTo` transfers back-pressure, the end and resets from one half to the other. */
function echoBidirectional({ readable, writable }: WebTransportBidirectionalStream): Promise<void> {
  return quietly(readable.pipeTo(writable));
}

async function echoUnidirectional(session: WebTransportSession, readable: ReadableStream<Uint8Array>): Promise<void> {
  try {
    await readable.pipeTo(await session.createUnidirectionalStream({ waitUntilAvailable: true }));
  } catch (error) {
    // No stream is available, or either side reset its own. The other streams go on.
    await quietly(readable.locked ? Promise.resolve() : readable.cancel(error));
  }
}

/** Runs `act` for every item without waiting for it, until the stream ends with its session. */
async function forEach<Item>(stream: ReadableStream<Item>, act: (item: Item) => Promise<void>): Promise<void> {
  try {
    for await (const item of stream) void act(item);
  } catch {
    // The session was lost; `session.closed` tells why.
  }
}

/** Ignores errors: resets and lost sessions end an echo without being its fault. */
function quietly(work: Promise<void>): Promise<void> {
  return work.catch(() => undefined);
}
