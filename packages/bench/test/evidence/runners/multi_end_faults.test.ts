import { expect, test } from 'vitest';
import { parseFaults } from '../../../src/evidence/runners/multi_end_faults.js';

test('lines about faults are found in the output of the tests, and others are passed over', () => {
  const row = { fault: 'backend killed', keys: 'shared', failed: 0, bytesLost: 0, longestStallMs: 2200 };
  const output = `stdout | a test\n${JSON.stringify({ ...row, requests: 40 })}\n\n ✓ a test\n`;
  expect(parseFaults(output)).toEqual([row]);
  expect(parseFaults('no row')).toEqual([]);
});
