import type { Broadcast, Publication } from './broadcast.js';
import { MediaError } from './media_error.js';
import type { MemoryBudget } from './memory_budget.js';

/** Is told when a broadcast begins or ends. A broadcast that replaces another one of its name begins without an end of the other. */
export type BroadcastListener = (broadcast: Broadcast, active: boolean) => void;

/** Broadcasts of one route at one time */
const maxBroadcasts = 256;

/** The broadcasts that viewers can find, by name */
export class Broadcasts {
  readonly #byName = new Map<string, Broadcast>();
  readonly #listeners = new Set<BroadcastListener>();

  /** `memory` is that of all broadcasts together. */
  constructor(readonly memory: MemoryBudget) {}

  /** Active broadcasts */
  get all(): IterableIterator<Broadcast> {
    return this.#byName.values();
  }

  get(name: string): Broadcast | undefined {
    return this.#byName.get(name);
  }

  /**
   * Announces a broadcast. The newest of a name counts: a publisher that comes back does not wait for its lost connection to end.
   * @throws MediaError when there are too many
   */
  add(broadcast: Broadcast): void {
    const before = this.#byName.get(broadcast.name);
    // The worker of its publisher has counted a copy, and all workers have to know the same broadcasts.
    if (before === undefined && !broadcast.isCopy && this.#byName.size >= maxBroadcasts)
      throw new MediaError('too_large', `there are ${maxBroadcasts} broadcasts already`);
    this.#byName.set(broadcast.name, broadcast);
    this.#tell(broadcast, true);
    before?.end();
  }

  /** Whether there is a broadcast of this name that began later. All workers of a node give the same answer about two of them. */
  hasNewer(name: string, { startedAt, token }: Publication): boolean {
    const present = this.#byName.get(name)?.publication;
    if (present === undefined) return false;
    return present.startedAt === startedAt ? present.token > token : present.startedAt > startedAt;
  }

  /** Ends a broadcast, and takes it out if no other one took its place. */
  remove(broadcast: Broadcast): void {
    broadcast.end();
    if (this.#byName.get(broadcast.name) !== broadcast) return;
    this.#byName.delete(broadcast.name);
    this.#tell(broadcast, false);
  }

  /** Returns a function that ends the calls. */
  watch(listener: BroadcastListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(broadcast: Broadcast, active: boolean): void {
    for (const listener of this.#listeners) listener(broadcast, active);
  }
}
