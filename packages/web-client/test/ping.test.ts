import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerPing, decodePong, encodePing } from '../src/protocol/index.js';

test('a ping has the documented bytes', () => {
  expect(encodePing(0x01020304)).toEqual(Uint8Array.of(0, 0, 0, 0, 0, 1, 2, 3, 4));
});

test('a pong brings the identifier back', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (identifier) => {
      expect(decodePong(answerPing(encodePing(identifier))!)).toBe(identifier);
    }),
  );
});

test('nothing else is answered or read', () => {
  for (let length = 0; length < 9; length += 1) {
    expect(answerPing(encodePing(1).subarray(0, length))).toBeUndefined();
    expect(decodePong(answerPing(encodePing(1))!.subarray(0, length))).toBeUndefined();
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
      const answer = answerPing(bytes);
      if (answer !== undefined) expect([bytes.length, bytes[0]]).toEqual([9, 0]);
      if (decodePong(bytes) !== undefined) expect([bytes.length, bytes[0]]).toEqual([9, 1]);
    }),
  );
});

test('a pong is never answered: two ends cannot keep each other busy', () => {
  expect(answerPing(answerPing(encodePing(5))!)).toBeUndefined();
});
