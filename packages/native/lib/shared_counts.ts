import { addon, type NativeSharedCounts } from './addon.js';

/** One more of what is counted under a name. */
export interface CountClaim {
  /** A name without line breaks */
  name: string;
  /** How many of them there may be at one time */
  most: number;
}

/**
 * Counts that several threads of this process have together. What a thread holds is given back when it ends, however it ends.
 */
export interface SharedCounts {
  /** Takes one of each, or nothing: then it returns the place of the first claim with as many as there may be. */
  take(claims: readonly CountClaim[]): number | undefined;
  /** Gives one of each name back, which this thread took. */
  give(names: readonly string[]): void;
  /**
   * Takes one of what may happen `perSecond` times, and as often at one moment, by all threads together. Returns false when it is too
   * early. What was taken is not given back. There are few names, for as long as a thread has these counts.
   */
  takeTurn(name: string, perSecond: number): boolean;
}

class Counts implements SharedCounts {
  readonly #native: NativeSharedCounts;

  constructor(name: string) {
    this.#native = new (addon().SharedCounts)(name);
  }

  take(claims: readonly CountClaim[]): number | undefined {
    const names = claims.map(({ name }) => name).join('\n');
    const full = this.#native.take(
      names,
      Float64Array.from(claims, ({ most }) => most),
    );
    return full < 0 ? undefined : full;
  }

  give(names: readonly string[]): void {
    this.#native.give(names.join('\n'));
  }

  takeTurn(name: string, perSecond: number): boolean {
    return this.#native.takeTurn(name, perSecond);
  }
}

/** Opens the counts of a name, which all threads of this process share that have opened them. */
export function openSharedCounts(name: string): SharedCounts {
  return new Counts(name);
}
