import { WritableStream, type WritableStreamDefaultController } from 'node:stream/web';
import type { Post } from './port_message.js';
import type { SendWindow } from './send_window.js';

/** The declarations of Node.js leave the signal out. */
type AbortableController = WritableStreamDefaultController & { readonly signal: AbortSignal };

/** The sending half of a stream over a port */
export class SendingHalf {
  readonly stream: WritableStream<Uint8Array> & { setPriority(): void };
  readonly #over = new AbortController();
  #controller!: WritableStreamDefaultController;

  /** `onOver` is called when nothing more is sent. */
  constructor(id: number, post: Post, window: SendWindow, onOver: () => void) {
    const finish = (message: Parameters<Post>[0]): void => {
      onOver();
      post(message);
    };
    const stream = new WritableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        (controller as AbortableController).signal.addEventListener('abort', () => this.#over.abort());
      },
      write: async (bytes) => {
        // The other thread gets a copy, since caches keep what they send.
        if (await window.take(bytes.length, this.#over.signal)) post({ stream: id, bytes: new Uint8Array(bytes) });
      },
      close: () => finish({ ends: id }),
      abort: () => finish({ resets: id }),
    });
    // A thread has no queue in which one stream would wait for another.
    this.stream = Object.assign(stream, { setPriority: () => undefined });
  }

  /** Fails what is written from now on. */
  fail(error: Error): void {
    this.#controller.error(error);
    this.#over.abort();
  }
}
