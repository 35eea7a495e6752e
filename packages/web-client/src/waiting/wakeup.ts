/** Lets any number of readers wait for the next change of something. */
export class Wakeup {
  #waiting = new Set<() => void>();

  /** Those who wait */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves with the next `notify`, or when the signal aborts: nothing is left then of who waited. */
  wait(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal?.addEventListener('abort', wake);
    });
  }

  notify(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }
}
