/** A rate limit of `perSecond`. Unused tokens are kept, up to `burst`. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #filledAt = performance.now();

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /** Takes a token. Returns false when there is none. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Milliseconds until a token is available: a whole number, at least 1 */
  get wait(): number {
    this.#fill();
    return Math.max(1, Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1_000));
  }

  #fill(): void {
    const now = performance.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) / 1_000) * this.#perSecond);
    this.#filledAt = now;
  }
}
