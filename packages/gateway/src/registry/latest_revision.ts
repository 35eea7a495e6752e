import { EntryRefused } from './entry.js';

/** How far in seconds a revision may be ahead of the clock, as clocks of machines differ. Nothing could replace one of a far time. */
const maxAheadSeconds = 24 * 60 * 60;

/** The latest of what an operator has signed under one key, which has a revision of its own */
export class LatestRevision {
  readonly #now: () => number;
  #operators = 0;
  #registrys = 0;

  /** `now` returns the time of day in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Returns whether a value of the operator's revision, read at a revision of the registry, is newer than all before.
   * @throws EntryRefused when somebody has brought back an older one, or it is of a time far ahead
   */
  isNewer(key: string, operators: number, registrys: number): boolean {
    const before = this.#operators;
    if (operators <= before) {
      // A list may be read later than the changes after it; and what was read from the copy is there again.
      if (registrys <= this.#registrys || operators === before) return false;
      throw new EntryRefused('replayed', `${key} is revision ${operators}, and ${before} was there before`);
    }
    if (isFarAhead(operators, this.#now()))
      throw new EntryRefused('malformed', `${key} is revision ${operators}, which is a time far ahead`);
    this.#operators = operators;
    this.#registrys = registrys;
    return true;
  }
}

/** Returns the revision of what an operator signs now: the time in seconds, and later than the one before, if nodes have taken that. */
export function nextRevision(before: number | undefined, now: number): number {
  const taken = before !== undefined && !isFarAhead(before, now) ? before : 0;
  return Math.max(taken + 1, Math.floor(now / 1_000));
}

function isFarAhead(revision: number, now: number): boolean {
  return revision > now / 1_000 + maxAheadSeconds;
}
