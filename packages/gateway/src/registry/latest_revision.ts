import { EntryRefused } from './entry.js';

/** The latest of what an operator has signed under one key, which has a revision of its own */
export class LatestRevision {
  #operators = 0;
  #registrys = 0;

  /**
   * Returns whether a value of the operator's revision, read at a revision of the registry, is newer than all before.
   * @throws EntryRefused when somebody has brought back an older one
   */
  isNewer(key: string, operators: number, registrys: number): boolean {
    const before = this.#operators;
    if (operators <= before) {
      // A list may be read later than the changes after it; and what was read from the copy is there again.
      if (registrys <= this.#registrys || operators === before) return false;
      throw new EntryRefused('replayed', `${key} is revision ${operators}, and ${before} was there before`);
    }
    this.#operators = operators;
    this.#registrys = registrys;
    return true;
  }
}

/** Returns the revision of what an operator signs now: the time in seconds, and later than the one before. */
export function nextRevision(before: number | undefined, now: number): number {
  return Math.max((before ?? 0) + 1, Math.floor(now / 1_000));
}
