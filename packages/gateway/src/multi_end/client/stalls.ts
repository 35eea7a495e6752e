/** Polling interval for stalled requests, in milliseconds */
const periodMs = 250;
/**
 * Time in milliseconds for which a backend may be silent once the gateway is lost. Without the gateway the backend gets
 * no more credit, so data that has not come by then will not come at all.
 */
export const stallMs = 3_000;

/** A request that waits for a backend */
export interface Wait {
  /** Start of the wait, `performance.now()`; undefined while the backend is not the one that is slow */
  since: number | undefined;
  abandon(): void;
}

/**
 * Requests that wait for backends of a connection. They are abandoned when their backends fall silent after the gateway
 * was lost.
 */
export class Stalls {
  readonly #waits = new Set<Wait>();
  #timer: NodeJS.Timeout | undefined;

  /** Number of requests that wait, or may wait again */
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

  /** Starts to watch, since the gateway is lost. */
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
