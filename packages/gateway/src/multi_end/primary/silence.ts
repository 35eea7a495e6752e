export interface SilenceOptions {
  /** Time in milliseconds between two looks */
  stepMs: number;
  /** Looks without a word of the other node, the first of which asks it */
  steps: number;
  /** Asks the other node for a word. */
  ask(): void;
  /** Hears that the other node says nothing. */
  onSilence(): void;
}

/**
 * Finds out that another node answers nothing. Counts looks, not time: while this process does not run there are
 * none. To wait longer only delays what is asked elsewhere instead, so a node that is merely slow loses nothing but its turn.
 */
export class Silence {
  readonly #options: SilenceOptions;
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  /** Whether somebody waits. A timer outlives one wait, as a new one costs more than to set it anew. */
  #watches = false;
  #silent = false;

  constructor(options: SilenceOptions) {
    this.#options = options;
  }

  /** Whether nothing was heard since the last silence */
  get silent(): boolean {
    return this.#silent;
  }

  /** Looks until `stop`. */
  watch(): void {
    if (this.#watches) return;
    this.#watches = true;
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setInterval(() => this.#look(), this.#options.stepMs).unref();
  }

  stop(): void {
    this.#watches = false;
    this.#looks = 0;
  }

  heard(): void {
    this.#looks = 0;
    this.#silent = false;
  }

  /** What another connection to the node has found out. */
  note(): void {
    if (this.#silent) return;
    this.#looks = 0;
    this.#silent = true;
    this.#options.onSilence();
  }

  #look(): void {
    if (!this.#watches) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const { steps } = this.#options;
    this.#looks += 1;
    this.#options.ask();
    if (this.#looks < steps || this.#silent) return;
    // What has come is read first.
    setImmediate(() => {
      if (this.#looks >= steps) this.note();
    });
  }
}
