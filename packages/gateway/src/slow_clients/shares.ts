/** Counts what each network holds of a shared resource. */
export class Shares {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Amount that all networks hold together */
  get count(): number {
    return this.#count;
  }

  heldBy(network: string): number {
    return this.#held.get(network) ?? 0;
  }

  add(network: string): void {
    this.#held.set(network, this.heldBy(network) + 1);
    this.#count += 1;
  }

  delete(network: string): void {
    const held = this.heldBy(network) - 1;
    if (held > 0) this.#held.set(network, held);
    else this.#held.delete(network);
    this.#count -= 1;
  }

  /**
   * Returns whether a network may hold more: a network holds at most as much as is still free. So a single network gets
   * half, and a few greedy networks leave some for the next one (Choudhury and Hahne, "Dynamic queue length thresholds
   * for shared-memory packet switches", 1998). `freed` is added to the free amount.
   */
  hasRoomFor(network: string, freed = 0): boolean {
    return this.heldBy(network) < this.#most - this.#count + freed;
  }
}
