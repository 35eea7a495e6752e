import type { Outgoing } from './channel.js';

/** The body of a request, to which messages are written as they arise */
export class MessageBody implements Outgoing, AsyncIterable<Buffer> {
  #waiting: Buffer[] = [];
  #backlog = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  get backlog(): number {
    return this.#backlog;
  }

  write(bytes: Buffer): void {
    if (this.#ended) return;
    this.#waiting.push(bytes);
    this.#backlog += bytes.length;
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#waiting.length > 0) {
        const bytes = Buffer.concat(this.#waiting);
        this.#waiting = [];
        this.#backlog = 0;
        yield bytes;
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
