import { openSharedCounts } from '@sheaf/native';
import { expect, it } from 'vitest';
import { OwnCounts, type Counts } from '../../src/values/counts.js';

const perSecond = 50;

/** Takes turns until there are no more. A second that passes meanwhile brings as many again. */
function takeAll(counts: Counts, name: string): number {
  for (let taken = 0; taken < 10_000; taken++) if (!counts.takeTurn(name, perSecond)) return taken;
  throw new Error('turns do not end');
}

it.each<[string, () => Counts]>([
  ['of one thread', () => new OwnCounts()],
  ['of several threads', () => openSharedCounts(`counts.test ${Math.random()}`)],
])('turns %s are so many at one moment, for each name', (_name, open) => {
  const counts = open();
  for (const name of ['a', 'b']) expect(takeAll(counts, name)).toBeGreaterThanOrEqual(perSecond);
});
