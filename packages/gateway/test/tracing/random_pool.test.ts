import { expect, it } from 'vitest';
import { pooledRandom } from '../../src/tracing/random_pool.js';

it('hands every octet out once, and fetches more when they are used up', () => {
  let fills = 0;
  const random = pooledRandom((pool) => pool.fill(++fills));
  const handed = Array.from({ length: 600 }, (_, index) => Buffer.from(random(index % 2 === 0 ? 16 : 8)));
  expect(fills).toBe(2);
  expect(handed.slice(0, 341).every((octets) => octets.every((octet) => octet === 1))).toBe(true);
  expect(handed.at(-1)).toEqual(Buffer.alloc(8, 2));
  const counting = pooledRandom((pool) => pool.forEach((_, at) => (pool[at] = at)));
  expect([...counting(3), ...counting(2)]).toEqual([0, 1, 2, 3, 4]);
});
