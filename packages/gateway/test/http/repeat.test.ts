import { expect, test } from 'vitest';
import { mayRepeat } from '../../src/http/repeat.js';

test('what was never sent is sent again, whatever it is', () => {
  expect([mayRepeat('POST', false, 'nothing'), mayRepeat('GET', true, 'nothing')]).toEqual([true, true]);
});

test('what the server did nothing about is sent again while its body is there', () => {
  expect([
    mayRepeat('POST', true, 'unprocessed'),
    mayRepeat('POST', false, 'unprocessed'),
    mayRepeat('GET', false, 'unprocessed'),
  ]).toEqual([true, false, false]);
});

test('what may have had its effect is sent again only if that makes no difference (RFC 9110 §9.2.2)', () => {
  expect(['GET', 'PUT', 'DELETE', 'POST', 'PATCH'].map((method) => mayRepeat(method, true, 'unknown'))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(mayRepeat('GET', false, 'unknown')).toBe(false);
});
