/** How often what waits is looked at, in milliseconds. */
const periodMs = 250;
/**
 * How long a backend may say nothing once the gateway is lost. Without it the backend gets no more credit: what does not come
 * by then does not come at all.
 */
export const stallMs = 3_000;

/** Something that waits for a backend. */
export interface Wait {
  /** When it began to wait, `performance.now()`; undefined while somebody else is slow. */
  since: number | undefined;
  abandon(): void;
}

/** What waits for backends of a connection, and is abandoned when they fall silent after the gateway was lost. */
export class Stalls {
  readonly #waits = new Set<Wait>();
  #timer: NodeJS.Timeout | undefined;

  /** Of all that waits or may wait again. */
  get size(): number {
    return this.#waits.size;
  }

  add(wait: Wait): void {
    this.#waits.add(wait);
  }

  delete(wait: Wait): void {
    this.#waits.delete(wait);
    if (this.#waits.size === 0) clearInterval(this.#timer);
  }

  /** The gateway is lost. */
  watch(): void {
    const began = performance.now();
    this.#timer = setInterval(() => this.#look(began), periodMs).unref();
  }

  #look(began: number): void {
    const now = performance.now();
    for (const wait of this.#waits)
      if (wait.since !== undefined && now - Math.max(wait.since, began) > stallMs) wait.abandon();
  }
}
