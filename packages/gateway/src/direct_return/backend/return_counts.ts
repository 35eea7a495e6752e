import type { Executor, ExecutorStats } from '@sheaf/native';

const none: ExecutorStats = {
  grants: 0,
  runs: 0,
  packets: 0,
  bytes: 0,
  refused: { late: 0, low: 0, otherPhase: 0, outOfBounds: 0, noData: 0, paused: 0, tooMany: 0, broken: 0 },
  expired: 0,
};

/** Counts of all sessions with gateways since the start, also of those that have ended */
export class ReturnCounts {
  /** Latest counts of the sessions that are open */
  readonly #open = new Map<Executor, ExecutorStats>();
  #ended = none;

  add(executor: Executor): void {
    this.#open.set(executor, none);
  }

  /** Takes the last counts of a session that is about to end. */
  end(executor: Executor): void {
    this.#ended = sum(this.#ended, { ...this.#read(executor), grants: 0 });
    this.#open.delete(executor);
  }

  get total(): ExecutorStats {
    return [...this.#open.keys()].reduce((total, executor) => sum(total, this.#read(executor)), this.#ended);
  }

  /** The native session may have ended a moment ago, with its connection. Then the latest counts stand. */
  #read(executor: Executor): ExecutorStats {
    const stats = executor.stats() ?? this.#open.get(executor) ?? none;
    this.#open.set(executor, stats);
    return stats;
  }
}

function sum(one: ExecutorStats, other: ExecutorStats): ExecutorStats {
  const refused = { ...one.refused };
  for (const reason of Object.keys(refused) as (keyof typeof refused)[]) refused[reason] += other.refused[reason];
  return {
    grants: one.grants + other.grants,
    runs: one.runs + other.runs,
    packets: one.packets + other.packets,
    bytes: one.bytes + other.bytes,
    refused,
    expired: one.expired + other.expired,
  };
}
