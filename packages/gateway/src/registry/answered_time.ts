/**
 * Time that passes for a reader only while the registry tells it something. Silence of the registry says nothing about nodes, so it
 * must not count as theirs.
 */
export class AnsweredTime {
  readonly #gapMs: number;
  #counted = 0;
  #last: number | undefined;

  /** A pause longer than `gapMs` between two answers does not count. */
  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  get now(): number {
    return this.#counted;
  }

  /** The registry told something at this time. */
  heard(at: number): void {
    const passed = this.#last === undefined ? 0 : at - this.#last;
    if (passed <= this.#gapMs) this.#counted += passed;
    this.#last = at;
  }
}
