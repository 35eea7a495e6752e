import type { Exchange } from '../../http/exchange.js';

/** The exchanges that have had a turn at one backend and are not over: they may need it again. */
export class Dependents {
  readonly #present = new Set<Exchange>();
  #whenNone: (() => void)[] = [];

  get count(): number {
    return this.#present.size;
  }

  add(exchange: Exchange): void {
    this.#present.add(exchange);
  }

  delete(exchange: Exchange): void {
    if (this.#present.delete(exchange)) this.#tell();
  }

  /** Calls `none` as soon as no exchange is left. Those count that begin meanwhile. */
  whenNone(none: () => void): void {
    this.#whenNone.push(none);
    this.#tell();
  }

  #tell(): void {
    if (this.#present.size > 0) return;
    const told = this.#whenNone;
    this.#whenNone = [];
    for (const none of told) none();
  }
}
