import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatPriorityHeader, parsePriorityHeader, parseUrgency } from '../src/protocol/index.js';

const priority = {
  urgency: 4,
  incremental: true,
  dependency: { node: 18, parent: 11, weight: 42, exclusive: false },
};

describe('sheaf-priority', () => {
  test('is the priority field in base64 between colons', () => {
    expect(formatPriorityHeader(priority)).toBe(':DBIWKQ==:');
    expect(parsePriorityHeader(':DBIWKQ==:')).toEqual(priority);
  });

  test.each([undefined, '', '::', 'DBIWKQ==', ':DBIWK:', ':DBIW====:', ':_BIWKQ==:', `:${'A'.repeat(200)}:`, ':Ew==:'])(
    '%j says nothing',
    (value) => {
      expect(parsePriorityHeader(value)).toBeUndefined();
    },
  );

  test('of hostile text is a priority that can be sent on, or nothing', () => {
    const near = fc.string({ unit: fc.constantFrom(...'ABCDabcd0189+/=:'), maxLength: 120 }).map((text) => `:${text}:`);
    fc.assert(
      fc.property(fc.oneof(fc.string(), near), (value) => {
        const parsed = parsePriorityHeader(value);
        if (parsed) expect(parsePriorityHeader(formatPriorityHeader(parsed))).toEqual(parsed);
      }),
      { numRuns: 20_000 },
    );
  });
});

// RFC 9218 §4, RFC 8941 §3.2.
test.each([
  [undefined, 3, false],
  ['', 3, false],
  ['u=0', 0, false],
  ['u=7, i', 7, true],
  ['i=?1,u=2', 2, true],
  ['i=?0', 3, false],
  ['u=8', 3, false],
  ['u=1.0', 3, false],
  ['u="1"', 3, false],
  ['u=5;x=1, other=(1 2), i;y', 5, true],
  ['u=1, u=6', 6, false],
  ['I, U=1', 3, false],
])('the priority field %j is urgency %i, incremental %s', (value, urgency, incremental) => {
  expect(parseUrgency(value)).toEqual({ urgency, incremental });
});
