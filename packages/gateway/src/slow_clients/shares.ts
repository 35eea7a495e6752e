/** How much of something each network holds. */
export class Shares {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Of all networks. */
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
   * Who holds as much as is free gets no more: a network that is alone has half of it, and whatever a few want, they
   * leave some to the next one (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998).
   * `freed`: as if so much more were free.
   */
  hasRoomFor(network: string, freed = 0): boolean {
    return this.heldBy(network) < this.#most - this.#count + freed;
  }
}
