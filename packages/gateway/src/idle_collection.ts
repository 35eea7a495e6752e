// Decides when a gateway that has nothing to do collects garbage. V8 collects when more is allocated. What a crowd left
// behind, such as the native memory of closed HTTP/2 sessions, would stay until the next crowd adds its own to it.

/** Growth in bytes that is worth a collection */
const worthwhile = 4 * 2 ** 20;
/** Heap in bytes above which a collection would make clients wait, so that V8 alone decides */
const largest = 64 * 2 ** 20;
/** Share of the time in which the process may be busy and still counts as idle */
const idleShare = 0.1;
/** Freed bytes below which the next collection after closed connections waits twice as long */
const useful = 2 ** 20;
const firstPauseMs = 2_000;
const longestPauseMs = 64_000;
/** Time between two collections of what grew, in which requests of few clients leave garbage, too */
const growthPauseMs = 10_000;

export interface Heap {
  /** Returns the size in bytes of all objects, dead ones included, with their native memory. */
  held(): number;
  /** Collects all garbage now. */
  collect(): void;
}

/** Collects garbage in `heap` while the process is idle, and only if much can have become garbage. */
export class IdleCollection {
  readonly #heap: Heap;
  /** Sizes after the last collection, and after the one that left least */
  #last: number;
  #least: number;
  /** Time of the last collection in milliseconds */
  #lastTime = -Infinity;
  #connectionsClosed = false;
  #pauseMs = firstPauseMs;
  #pauseEnds = 0;

  constructor(heap: Heap) {
    this.#heap = heap;
    this.#last = this.#least = heap.held();
  }

  /** Tells that objects which were in use can be garbage now. */
  connectionClosed(): void {
    this.#connectionsClosed = true;
  }

  /**
   * Collects if it is worthwhile. `now`: time in milliseconds; `busy`: share of the time since the last call in which
   * the process worked.
   */
  look(now: number, busy: number): void {
    if (busy > idleShare) return;
    const before = this.#heap.held();
    if (before > largest) return;
    const left = this.#connectionsClosed && now >= this.#pauseEnds && before >= this.#least + worthwhile;
    const grown = now >= this.#lastTime + growthPauseMs && before >= this.#last + worthwhile;
    if (!left && !grown) return;
    this.#connectionsClosed = false;
    this.#heap.collect();
    this.#last = this.#heap.held();
    this.#least = Math.min(this.#least, this.#last);
    this.#lastTime = now;
    if (!left) return;
    this.#pauseMs = before - this.#last < useful ? Math.min(2 * this.#pauseMs, longestPauseMs) : firstPauseMs;
    this.#pauseEnds = now + this.#pauseMs;
  }
}
