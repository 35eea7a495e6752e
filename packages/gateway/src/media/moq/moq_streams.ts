import { asMediaError, MediaError } from '../model/media_error.js';
import { ByteReader, type Allowance } from './byte_reader.js';
import { varint } from './fields.js';
import type { MoqBidirectionalStream, MoqTransport } from './moq_transport.js';
import { SentBytes } from './sent_bytes.js';

/** Both halves of a request of moq-lite */
export interface MoqStream {
  reader: ByteReader;
  sent: SentBytes;
}

/** Requests that wait for the peer to allow streams, in one session, and groups that do */
const maxOpening = 256;

/** Makes the streams of one session, and reads them within its allowance. */
export class MoqStreams {
  /** Those that wait, by kind: neither takes the places of the other */
  readonly #opening = { requests: 0, groups: 0 };

  constructor(
    readonly session: MoqTransport,
    readonly allowance: Allowance,
  ) {}

  /** Wraps a stream that the peer opened. */
  accept(stream: MoqBidirectionalStream): MoqStream {
    // Requests are small, and everything that groups bring depends on them.
    stream.setPriority({ urgency: 0, incremental: false });
    return { reader: new ByteReader(stream.readable, this.allowance), sent: new SentBytes(stream.writable) };
  }

  /** Opens a request of this type and sends its first message. @throws MediaError `too_large` when too many wait */
  async request(type: number, message: Uint8Array): Promise<MoqStream> {
    const stream = await this.#open('requests', () =>
      this.session.createBidirectionalStream({ waitUntilAvailable: true }),
    );
    const opened = this.accept(stream);
    await opened.sent.write(Buffer.concat([varint(type), message]));
    return opened;
  }

  /** Opens a unidirectional stream, when the peer allows one. */
  unidirectional(): ReturnType<MoqTransport['createUnidirectionalStream']> {
    return this.#open('groups', () => this.session.createUnidirectionalStream({ waitUntilAvailable: true }));
  }

  /** Ends a stream early, in both directions. */
  abandon({ reader, sent }: MoqStream, error: unknown): void {
    const reason = asMediaError(error);
    sent.reset(reason);
    reader.cancel(reason);
  }

  /** Ends the session of a peer that violates the protocol. */
  close(error: MediaError): void {
    this.session.close({ closeCode: error.streamErrorCode, reason: error.message.slice(0, 200) });
  }

  async #open<Stream>(kind: 'requests' | 'groups', create: () => Promise<Stream>): Promise<Stream> {
    // Only this one fails: what waits may be the requests of viewers, for whom a publisher must not lose its session.
    if (this.#opening[kind] >= maxOpening)
      throw new MediaError('too_large', `${maxOpening} ${kind} wait for the peer to allow them`);
    this.#opening[kind] += 1;
    try {
      return await create();
    } finally {
      this.#opening[kind] -= 1;
    }
  }
}
