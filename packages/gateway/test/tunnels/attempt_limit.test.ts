import { expect, it } from 'vitest';
import { AttemptLimit } from '../../src/tunnels/attempt_limit.js';

it('bounds attempts of each client, and what it remembers of them', () => {
  const limit = new AttemptLimit(2, 3);
  limit.note('a', 0);
  expect(limit.permits('a', 1)).toBe(true);
  limit.note('a', 1);
  expect(limit.permits('a', 2)).toBe(false);
  expect(limit.permits('b', 2)).toBe(true);
  expect(limit.permits('a', 59_999)).toBe(false);
  expect(limit.permits('a', 60_000)).toBe(true);
  for (const client of ['b', 'c', 'd']) limit.note(client, 2);
  expect(limit.permits('a', 3)).toBe(true); // forgotten
});
