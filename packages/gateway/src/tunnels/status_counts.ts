/** Counts requests by the status of their response. */
export class StatusCounts {
  readonly #counts = new Map<number, number>();

  note(status: number): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
  }

  /** Number of requests by status; a copy */
  get all(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
