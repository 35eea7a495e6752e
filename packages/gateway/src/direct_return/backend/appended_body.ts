import type { Readable } from 'node:stream';
import type { ReturnedBody } from '@sheaf/native';
import type { Exchange, TakenBody } from '../../http/exchange.js';

/** Appends what comes from another server to a body of known length, no faster than the client takes it. */
export class AppendedBody implements TakenBody {
  waits = false;
  readonly #body: ReturnedBody;
  readonly #length: number;

  constructor(body: ReturnedBody, length: number) {
    this.#body = body;
    this.#length = length;
  }

  end(): void {
    this.#body.fail();
  }

  /**
   * Appends all bytes of `source`, and counts them for the exchange. Stops when the body is over. If the source fails, or has more or
   * fewer bytes, fails the body and rejects.
   */
  async appendAll(source: Readable, exchange: Pick<Exchange, 'bytesSent'>): Promise<void> {
    // A source that waits for its next bytes would not notice.
    void this.#body.over.then(() => source.destroy());
    let rest = this.#length;
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        rest -= chunk.length;
        if (rest < 0) throw new Error(`the body is longer than ${this.#length} bytes`);
        exchange.bytesSent += chunk.length;
        await this.#append(chunk);
        if (this.#body.isOver) return;
      }
      if (rest > 0) throw new Error(`the body ended ${rest} bytes before its end`);
    } catch (error) {
      if (this.#body.isOver) return;
      this.#body.fail();
      throw error;
    }
  }

  async #append(chunk: Buffer): Promise<void> {
    if (this.#body.append(chunk)) return;
    this.waits = true;
    await this.#body.room();
    this.waits = false;
  }
}
