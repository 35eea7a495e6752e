import type { Exchange } from '../../http/exchange.js';

/** The exchanges that have had a turn at one backend and are not over: they may need it again. */
export class Dependents {
  readonly #present = new Set<Exchange>();
  /** What to call when the last exchange of a set is over */
  readonly #awaited = new Map<Set<Exchange>, () => void>();

  add(exchange: Exchange): void {
    this.#present.add(exchange);
  }

  delete(exchange: Exchange): void {
    this.#present.delete(exchange);
    for (const [awaited, gone] of this.#awaited) {
      awaited.delete(exchange);
      if (awaited.size > 0) continue;
      this.#awaited.delete(awaited);
      gone();
    }
  }

  /** Calls `gone` when all that are present now are over. Later ones do not count. */
  whenGone(gone: () => void): void {
    if (this.#present.size === 0) return gone();
    this.#awaited.set(new Set(this.#present), gone);
  }
}
