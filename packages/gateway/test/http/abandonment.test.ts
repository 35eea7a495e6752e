import { expect, it } from 'vitest';
import { Abandonment } from '../../src/http/abandonment.js';

it('tells each listener once, and follows the first of others', () => {
  const [one, other] = [new Abandonment(), new Abandonment()];
  const both = Abandonment.any([one, other]);
  let calls = 0;
  both.addEventListener('abort', () => (calls += 1));
  expect(both.aborted).toBe(false);
  other.abort();
  one.abort();
  expect([both.aborted, calls]).toEqual([true, 1]);
  expect(Abandonment.any([AbortSignal.abort(), new Abandonment()]).aborted).toBe(true);
});
