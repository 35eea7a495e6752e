import type { CancelSignal } from '@sheaf/native';

/** Tells that something was abandoned. An AbortController costs more than the rest of a small request. */
export class Abandonment implements CancelSignal {
  aborted = false;
  readonly #listeners = new Set<() => void>();

  /** Calls the listeners, once. */
  readonly abort = (): void => {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  };

  /** Returns one that follows the first of these signals. */
  static any(signals: Iterable<CancelSignal>): Abandonment {
    const abandonment = new Abandonment();
    for (const signal of signals) {
      signal.addEventListener('abort', abandonment.abort, { once: true });
      if (signal.aborted) abandonment.abort();
    }
    return abandonment;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener);
  }
}
