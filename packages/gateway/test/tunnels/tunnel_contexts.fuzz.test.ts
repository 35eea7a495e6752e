import { readTunnelContexts } from '@sheaf/native';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const mostSets = 8;

const sides = fc.constantFrom('client' as const, 'proxy' as const);
/** Text like that of the field */
const field = fc
  .array(
    fc.constantFrom('(', ')', ' ', ',', ', ', ';a=1', '-', '0', '2', '3', '46', '99', '999999999999999', 'x', '\t'),
    {
      maxLength: 80,
    },
  )
  .map((parts) => parts.join(''));
const sets = fc.array(fc.array(fc.integer({ min: 0, max: 70 }), { minLength: 4, maxLength: 6 }), { maxLength: 10 });

it('whatever comes, ids of the peer are few, unique and its own', () => {
  const any = fc.oneof(
    field,
    sets.map((lists) => lists.map((items) => `(${items.join(' ')})`).join(',')),
  );
  fc.assert(
    fc.property(any, sides, fc.boolean(), (text, by, reports) => {
      const ids = readTunnelContexts(text, by, { reports });
      if (ids === undefined || ids === 'malformed') return;
      expect(ids.length % 4).toBe(0);
      expect(ids.length / 4).toBeLessThanOrEqual(mostSets);
      expect(new Set(ids).size).toBe(ids.length);
      for (const [place, id] of ids.entries()) {
        expect(Number.isSafeInteger(id)).toBe(true);
        if (id !== 0) expect(id % 2).toBe(by === 'client' ? 0 : 1);
        else expect(place % 4).toBe(0);
      }
      if (reports) expect(ids).not.toContain(1);
    }),
    { numRuns: 2_000 },
  );
});

it('reads lists with spaces, and those of the example in the draft', () => {
  expect(readTunnelContexts('(46 8 10 12 14);of=telephones ,\t(0 0 2 4 6)', 'client')).toEqual([
    8, 10, 12, 14, 0, 2, 4, 6,
  ]);
  expect(readTunnelContexts('(46,8,10,12,14), (0,0,2,4,6)', 'client')).toEqual([8, 10, 12, 14, 0, 2, 4, 6]);
});

it('a peer that knows the contexts may register none', () => {
  expect(readTunnelContexts('', 'client')).toEqual([]);
  expect(readTunnelContexts(undefined, 'client')).toBeUndefined();
});

it('a proxy that makes reports has context 1 for them', () => {
  const ids = '(0 0 1 3 5)';
  expect(readTunnelContexts(ids, 'proxy')).toEqual([0, 1, 3, 5]);
  expect(readTunnelContexts(ids, 'proxy', { reports: true })).toBe('malformed');
});
