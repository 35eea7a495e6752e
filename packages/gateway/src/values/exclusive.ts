/** Runs work one after the other. */
export class Exclusive {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` once all work before has ended. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Waits until all work before has ended. Nothing else runs until the returned function is called. */
  async enter(): Promise<() => void> {
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    await new Promise<void>((entered) => {
      void this.run(() => {
        entered();
        return left;
      });
    });
    return leave;
  }
}
