import { Readable, Writable } from 'node:stream';
import { capsuleHead, DataCapsules } from './data_capsules.js';
import type { JoinedStream } from './joined_streams.js';

/**
 * Returns a stream for the bytes of a TCP connection, which travel in capsules over another one. Each end of the TCP connection is a
 * capsule, too; the stream below ends behind both of them, or breaks off (draft-ietf-httpbis-connect-tcp-14 §3.4).
 */
export function inCapsules({ incoming, outgoing, abort }: JoinedStream): JoinedStream {
  const received = new ReceivedCapsules(incoming, () => abort('target'));
  const sent = new SentCapsules(outgoing);
  const onEnd = (): void => {
    if (received.readableEnded && sent.writableFinished) outgoing.end();
  };
  received.once('end', onEnd);
  sent.once('finish', onEnd);
  return { incoming: received, outgoing: sent, abort };
}

class ReceivedCapsules extends Readable {
  readonly #incoming: Readable;
  readonly #capsules = new DataCapsules();

  /** `onInvalid`: the peer breaks the rules of capsules, also behind the last byte. */
  constructor(incoming: Readable, onInvalid: () => void) {
    super();
    this.#incoming = incoming;
    const guard = (read: () => void): void => {
      try {
        read();
      } catch (error) {
        this.destroy(error as Error);
        onInvalid();
      }
    };
    incoming
      .on('data', (bytes: Buffer) => guard(() => this.#take(bytes)))
      .once('end', () => guard(() => this.#capsules.finish()))
      .on('error', (error: Error) => this.destroy(error))
      .once('close', () => {
        if (!this.#capsules.ended) this.destroy();
      });
  }

  override _read(): void {
    this.#incoming.resume();
  }

  #take(bytes: Buffer): void {
    if (this.destroyed && !this.readableEnded) return;
    const data = this.#capsules.take(bytes);
    if (data.length > 0 && !this.push(data)) this.#incoming.pause();
    if (!this.#capsules.ended || this.readableEnded) return;
    this.push(null);
    // What follows is read for its end.
    this.#incoming.resume();
  }
}

/** Closes with the stream below, and not before. */
class SentCapsules extends Writable {
  readonly #outgoing: Writable;

  constructor(outgoing: Writable) {
    super({ autoDestroy: false });
    this.#outgoing = outgoing;
    outgoing.on('error', (error: Error) => this.destroy(error)).once('close', () => this.destroy());
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error) => void): void {
    const outgoing = this.#outgoing;
    outgoing.cork();
    outgoing.write(capsuleHead(bytes.length, false));
    const hasRoom = outgoing.write(bytes);
    outgoing.uncork();
    if (hasRoom) done();
    else outgoing.once('drain', done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#outgoing.write(capsuleHead(0, true));
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#outgoing.destroy();
    done(error);
  }
}
