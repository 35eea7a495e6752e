import { expect, test } from 'vitest';
import { document, keptRows, withMatrix } from './matrix.js';

test('the tables of docs/reference/interoperability.md have the verdicts that the tests found', () => {
  expect(withMatrix(document(), keptRows())).toBe(document());
});
