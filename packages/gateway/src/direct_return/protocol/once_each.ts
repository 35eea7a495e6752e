/**
 * Accepts each counter once, in any order, as messages of several streams overtake each other (RFC 4303 §3.4.3). A counter
 * that lies `window` or more below the largest one is refused, since nothing is remembered of it.
 */
export class OnceEach {
  readonly #window: number;
  readonly #seen = new Set<number>();
  #largest = 0;

  /** @param window number of counters that are remembered */
  constructor(window: number) {
    this.#window = window;
  }

  /** Returns whether a counter from 1 on comes for the first time. */
  accept(counter: number): boolean {
    if (counter <= Math.max(0, this.#largest - this.#window) || this.#seen.has(counter)) return false;
    if (counter - this.#largest >= this.#window) this.#seen.clear();
    for (; this.#largest < counter && this.#seen.size > 0; this.#largest += 1)
      this.#seen.delete(this.#largest + 1 - this.#window);
    this.#largest = Math.max(this.#largest, counter);
    this.#seen.add(counter);
    return true;
  }
}
