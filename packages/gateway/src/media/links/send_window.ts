import { Wakeup } from '@sheaf/web-client/wakeup';

/** Bounds the bytes that the other end of a port has not read yet. */
export class SendWindow {
  readonly #changed = new Wakeup();
  #unread = 0;

  constructor(private readonly limit: number) {}

  /** Counts these bytes once there is room. One piece may exceed the limit. Returns false when the signal aborts before. */
  async take(bytes: number, signal: AbortSignal): Promise<boolean> {
    while (this.#unread >= this.limit && !signal.aborted) await this.#changed.wait(signal);
    if (signal.aborted) return false;
    this.#unread += bytes;
    return true;
  }

  /** The other end has read these bytes. */
  giveBack(bytes: number): void {
    this.#unread -= bytes;
    this.#changed.notify();
  }
}
