import type { Clock } from './clock.js';
import type { Group } from './group.js';
import type { MediaError } from './media_error.js';
import type { MemoryShare } from './memory_budget.js';

/** How much of a broadcast is kept */
export interface CacheLimits {
  /** Milliseconds for which a group is kept after it began. The newest group of a track is always kept. */
  history: number;
  /** Bytes of all groups of the broadcast */
  bytes: number;
}

/** The groups of one broadcast, bounded by time, by bytes, and by the share of their publisher. Whole groups leave, the oldest first. */
export class GroupCache {
  /** Groups in the order in which they began, each with a function that takes it out of its track, unless it is the newest there */
  readonly #groups = new Map<Group, () => void>();
  #bytes = 0;

  constructor(
    private readonly limits: CacheLimits,
    readonly clock: Clock,
    /** What the publisher holds in all of its broadcasts */
    private readonly memory: MemoryShare,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes a new group. `leave` takes it out of its track, unless it is the newest there. Returns false when there is no room. */
  add(group: Group, leave: () => void): boolean {
    this.#expire();
    if (!this.admit(group.cost)) return false;
    this.#groups.set(group, leave);
    return true;
  }

  /** Makes room for these bytes. Returns false when only newest groups are left, and there is none. */
  admit(bytes: number): boolean {
    if (!this.#hasRoomFor(bytes)) {
      for (const [, leave] of this.#groups) {
        leave();
        if (this.#hasRoomFor(bytes)) break;
      }
    }
    if (!this.#hasRoomFor(bytes)) return false;
    this.#bytes += bytes;
    this.memory.take(bytes);
    return true;
  }

  /** Forgets a group and gives its memory back. Its readers get the error. */
  remove(group: Group, error: MediaError): void {
    if (!this.#groups.delete(group)) return;
    this.#bytes -= group.cost;
    this.memory.giveBack(group.cost);
    group.drop(error);
  }

  #hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= this.limits.bytes && this.memory.hasRoomFor(bytes);
  }

  #expire(): void {
    const oldest = this.clock.now() - this.limits.history;
    for (const [group, leave] of this.#groups) {
      if (group.startedAt >= oldest) return;
      leave();
    }
  }
}
