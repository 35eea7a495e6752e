import type { WritableStream, WritableStreamDefaultWriter } from 'node:stream/web';
import type { MediaError } from '../model/media_error.js';

/** The sending half of a stream. Each write waits until the transport has taken the bytes. */
export class SentBytes {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #over = new AbortController();

  constructor(stream: WritableStream<Uint8Array>) {
    this.#writer = stream.getWriter();
    const over = (): void => this.#over.abort();
    // Whoever writes gets the same error.
    this.#writer.closed.then(over, over);
    this.#writer.ready.catch(() => undefined);
  }

  /** Aborts when the stream is over: ended, reset, or refused by the peer. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#writer.write(bytes);
  }

  /** Ends the stream in order. */
  end(): void {
    this.#writer.close().catch(() => undefined);
  }

  /** Resets the stream, also while a write waits. */
  reset(error: MediaError): void {
    this.#writer.abort(error).catch(() => undefined);
  }
}
