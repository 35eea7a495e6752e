/** What one publisher holds of a budget */
export interface MemoryShare {
  hasRoomFor(bytes: number): boolean;
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

/**
 * Bounds the memory of all broadcasts of a route. A publisher holds at most as much as is still free, so one alone gets half, and
 * several leave some for the next one (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998).
 */
export class MemoryBudget {
  readonly #held = new Map<string, number>();
  #used = 0;

  constructor(private readonly limit: number) {}

  /** Bytes that all publishers hold */
  get used(): number {
    return this.#used;
  }

  /** Returns the share of a publisher, which all of its broadcasts have in common. */
  shareOf(publisher: string): MemoryShare {
    const add = (bytes: number): void => {
      const held = this.#heldBy(publisher) + bytes;
      if (held > 0) this.#held.set(publisher, held);
      else this.#held.delete(publisher);
      this.#used += bytes;
    };
    return {
      hasRoomFor: (bytes) => this.#heldBy(publisher) + bytes <= this.limit - this.#used - bytes,
      take: add,
      giveBack: (bytes) => add(-bytes),
    };
  }

  #heldBy(publisher: string): number {
    return this.#held.get(publisher) ?? 0;
  }
}
