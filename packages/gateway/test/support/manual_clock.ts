import type { Clock } from '../../src/media/model/clock.js';

/** A clock that stands until it is advanced. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Map<() => void, number>();

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, act: () => void): () => void {
    const timer = (): void => act();
    this.#timers.set(timer, this.#now + milliseconds);
    return () => this.#timers.delete(timer);
  }

  /** Timers that have not fired. */
  get timers(): number {
    return this.#timers.size;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const [timer, due] of [...this.#timers]) {
      if (due > this.#now) continue;
      this.#timers.delete(timer);
      timer();
    }
  }
}
