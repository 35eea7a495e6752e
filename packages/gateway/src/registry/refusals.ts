import { refusalReasons, type EntryRefused, type RefusalReason } from './entry.js';

/** Maximum of refused entries that are remembered, so that each is counted once */
const maxRemembered = 1_024;

/** Counts entries that are not used. */
export class Refusals {
  readonly counts = Object.fromEntries(refusalReasons.map((reason) => [reason, 0])) as Record<RefusalReason, number>;
  readonly #remembered = new Map<string, number>();
  readonly #tell: (refused: EntryRefused) => void;

  /** `tell` is called for few of many: for the first of each reason, the tenth, the hundredth. */
  constructor(tell: (refused: EntryRefused) => void) {
    this.#tell = tell;
  }

  add(key: string, revision: number, refused: EntryRefused): void {
    // An entry that stays is read again and again.
    if (this.#remembered.get(key) === revision) return;
    const count = (this.counts[refused.reason] += 1);
    if (this.#remembered.size >= maxRemembered) this.#remembered.clear();
    this.#remembered.set(key, revision);
    if (/^10*$/.test(String(count))) this.#tell(refused);
  }
}
