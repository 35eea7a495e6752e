/** Lets any number of readers wait for the next change of something. */
export class Wakeup {
  #promise: Promise<void> | undefined;
  #resolve: () => void = () => undefined;

  /** Resolves with the next `notify`. */
  wait(): Promise<void> {
    this.#promise ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#promise;
  }

  notify(): void {
    if (this.#promise === undefined) return;
    this.#promise = undefined;
    this.#resolve();
  }
}
