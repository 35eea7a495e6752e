import type { Executor, ExecutorStats } from '@sheaf/native';
import { expect, it } from 'vitest';
import { ReturnCounts } from '../../../src/direct_return/backend/return_counts.js';

const refused = { late: 0, low: 0, otherPhase: 0, outOfBounds: 0, noData: 0, paused: 0, tooMany: 0, broken: 0 };

/** A session whose counts may be set, and which knows none of them once it has ended */
function executor(stats: Partial<ExecutorStats>): { session: Executor; end(): void } {
  let counts: ExecutorStats | undefined = { grants: 0, runs: 0, packets: 0, bytes: 0, expired: 0, refused, ...stats };
  return { session: { stats: () => counts } as Executor, end: () => (counts = undefined) };
}

it('adds up the sessions, also those that have ended', () => {
  const counts = new ReturnCounts();
  const one = executor({ grants: 2, packets: 10, refused: { ...refused, late: 3 } });
  const other = executor({ grants: 1, packets: 5, refused: { ...refused, late: 1, low: 1 } });
  counts.add(one.session);
  counts.add(other.session);
  expect(counts.total).toMatchObject({ grants: 3, packets: 15, refused: { late: 4, low: 1 } });
  counts.end(one.session);
  expect(counts.total).toMatchObject({ grants: 1, packets: 15, refused: { late: 4, low: 1 } });
  other.end();
  expect(counts.total).toMatchObject({ packets: 15 });
  counts.end(other.session);
  expect(counts.total).toMatchObject({ grants: 0, packets: 15, refused: { late: 4, low: 1 } });
});
