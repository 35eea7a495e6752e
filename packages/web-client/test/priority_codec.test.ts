import { describe, expect, test } from 'vitest';
import {
  PRIORITY_LIMITS,
  ProtocolError,
  decodePriority,
  encodePriority,
  type StreamPriority,
} from '../src/protocol/index.js';

const root = { parent: 0, weight: 256, exclusive: false };

function bytes(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));
}

// Written by hand from docs/reference/wire.md.
const golden: [string, string, StreamPriority][] = [
  ['urgency alone', '00', { urgency: 0, incremental: false }],
  ['urgency and incremental', '0d', { urgency: 5, incremental: true }],
  ['a stream on the root', '03 10 00 ff', { urgency: 3, incremental: false, dependency: { node: 16, ...root } }],
  [
    'an exclusive child of a node of two bytes',
    '0a 11 50c9 b6',
    { urgency: 2, incremental: true, dependency: { node: 17, parent: 2148, weight: 183, exclusive: true } },
  ],
  [
    'a stream in a group of a group',
    '0c 12 16 29 0b 0e 01 07 00 c8',
    {
      urgency: 4,
      incremental: true,
      dependency: { node: 18, parent: 11, weight: 42, exclusive: false },
      groups: [
        { node: 11, parent: 7, weight: 2, exclusive: false },
        { node: 7, parent: 0, weight: 201, exclusive: false },
      ],
    },
  ],
];

describe('the priority field', () => {
  test.each(golden)('%s', (_name, hexadecimal, priority) => {
    expect(Buffer.from(encodePriority(priority)).toString('hex')).toBe(hexadecimal.replaceAll(' ', ''));
    expect(decodePriority(bytes(hexadecimal))).toEqual(priority);
  });

  test('is malformed when it is cut off inside a node, wherever that is', () => {
    const whole = bytes('0a 11 50c9 b6');
    for (let length = 2; length < whole.length; length += 1) {
      expect(() => decodePriority(whole.subarray(0, length))).toThrow(ProtocolError);
    }
  });

  test.each([
    ['nothing', ''],
    ['a reserved bit', '13'],
    ['node 0', '03 00 00 ff'],
    ['a node above the limit', '03 80100000 00 ff'],
    ['a parent above the limit', '03 01 80200000 ff'],
    ['a node that depends on itself', '03 05 0a ff'],
    ['a node that appears twice', '03 05 00 ff 05 00 ff'],
    ['ten nodes', `03 ${Array.from({ length: 10 }, (_, index) => `0${index + 1} 00 00`.slice(-8)).join(' ')}`],
  ])('refuses %s', (_name, hexadecimal) => {
    expect(() => decodePriority(bytes(hexadecimal))).toThrow(ProtocolError);
  });

  test('refuses to send what the other side would refuse', () => {
    const own = { node: 1, ...root };
    for (const wrong of [
      { urgency: 8, incremental: false },
      { urgency: 1, incremental: false, groups: [own] },
      { urgency: 1, incremental: false, dependency: { ...own, weight: 257 } },
      { urgency: 1, incremental: false, dependency: { ...own, node: PRIORITY_LIMITS.node + 1 } },
    ]) {
      expect(() => encodePriority(wrong)).toThrow(ProtocolError);
    }
  });
});
