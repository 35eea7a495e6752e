import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web';
import { Wakeup } from '@sheaf/web-client/wakeup';

export interface ReceivingHalfOptions {
  /** Called with the number of bytes that were read, or thrown away. */
  onRead: (bytes: number) => void;
  /** Called when the reader wants no more. */
  onCancel: () => void;
}

/** The receiving half of a stream over a port */
export class ReceivingHalf {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #changed = new Wakeup();
  readonly #options: ReceivingHalfOptions;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #pieces: Uint8Array[] = [];
  /** No more pieces come. */
  #ended = false;
  /** No more pieces are read. */
  #over = false;

  constructor(options: ReceivingHalfOptions) {
    this.#options = options;
    this.stream = new ReadableStream(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => {
          this.#leave();
          options.onCancel();
        },
      },
      { highWaterMark: 0 },
    );
  }

  push(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.#changed.notify();
  }

  end(): void {
    this.#ended = true;
    this.#changed.notify();
  }

  fail(error: Error): void {
    if (this.#over) return;
    this.#leave();
    this.#controller.error(error);
  }

  async #pull(): Promise<void> {
    while (this.#pieces.length === 0 && !this.#ended && !this.#over) await this.#changed.wait();
    if (this.#over) return;
    const piece = this.#pieces.shift();
    if (piece) {
      this.#options.onRead(piece.length);
      this.#controller.enqueue(piece);
    } else {
      this.#over = true;
      this.#controller.close();
    }
  }

  #leave(): void {
    this.#over = true;
    this.#options.onRead(this.#pieces.reduce((sum, { length }) => sum + length, 0));
    this.#pieces = [];
    this.#changed.notify();
  }
}
