import { expect, test } from 'vitest';
import { Tally } from '../src/page/servers/tally.js';

const report = (id: number, ended: boolean, ...parts: { backend?: number; bytes: number }[]) => ({ id, ended, parts });

test('the bytes of each server are added up, also while they arrive', () => {
  const tally = new Tally();
  for (const id of [1, 2, 3]) tally.expect(id);
  // The response 9 is another page's.
  tally.take([
    report(1, false, { backend: 1, bytes: 100 }),
    report(2, true, { bytes: 50 }),
    report(9, true, { backend: 1, bytes: 7 }),
  ]);
  expect([tally.shareOf(1), tally.shareOf('gateway'), tally.shareOf(2)]).toEqual([
    { bytes: 100, pieces: 0 },
    { bytes: 50, pieces: 1 },
    { bytes: 0, pieces: 0 },
  ]);
  const ended = tally.take([
    report(1, true, { backend: 1, bytes: 120 }, { backend: 2, bytes: 30 }),
    report(2, true, { bytes: 50 }),
    report(3, true, { backend: 3, bytes: 0 }, { backend: 2, bytes: 150 }),
  ]);
  expect(ended.map(({ id }) => id)).toEqual([1, 3]);
  expect([tally.shareOf(1), tally.shareOf(2), tally.shareOf(3), tally.shareOf('gateway')]).toEqual([
    { bytes: 120, pieces: 0 },
    { bytes: 180, pieces: 2 },
    { bytes: 0, pieces: 0 },
    { bytes: 50, pieces: 1 },
  ]);
  // Begun by another server, and asked of another in vain.
  expect(tally.continued).toBe(2);
  expect(tally.take([report(1, true, { backend: 1, bytes: 120 })])).toEqual([]);
  expect(tally.shareOf(1)).toEqual({ bytes: 120, pieces: 0 });
});
