import fc from 'fast-check';
import { writeVarint } from '@sheaf/web-client/protocol';
import { expect, it } from 'vitest';
import { capsuleHead, CapsuleError, DataCapsules } from '../../src/tunnels/data_capsules.js';

const runs = { numRuns: 100 };

/** Splits bytes at these places. */
const pieces = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
  const all: Buffer[] = [];
  for (let offset = 0, index = 0; offset < bytes.length; ++index) {
    const size = sizes[index % sizes.length]!;
    all.push(bytes.subarray(offset, offset + size));
    offset += size;
  }
  return all;
};

const payload = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
/** A capsule of another type, which may be as large as an integer can be (RFC 9297 §5.4) */
const foreign = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 10, max: 2 ** 31 }), fc.constant('largest')),
    payload,
  )
  .map(([type, bytes]) => {
    const head = Buffer.alloc(16, 0xff);
    const typeEnd = type === 'largest' ? 8 : writeVarint(head, 0, type);
    return Buffer.concat([head.subarray(0, writeVarint(head, typeEnd, bytes.length)), bytes]);
  });
const data = payload.map((bytes) => ({ bytes, capsule: Buffer.concat([capsuleHead(bytes.length, false), bytes]) }));
const other = foreign.map((capsule) => ({ bytes: Buffer.alloc(0), capsule }));

it('the bytes of TCP come out as they went in, whatever the pieces are', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(data, other)), payload, fc.array(other), sizes, (capsules, last, behind, split) => {
      const stream = Buffer.concat([
        ...capsules.map(({ capsule }) => capsule),
        capsuleHead(last.length, true),
        last,
        ...behind.map(({ capsule }) => capsule),
      ]);
      const reader = new DataCapsules();
      const read = Buffer.concat(pieces(stream, split).map((piece) => reader.take(piece)));
      expect(read).toEqual(Buffer.concat([...capsules.map(({ bytes }) => bytes), last]));
      expect(reader.ended).toBe(true);
      reader.finish();
    }),
    runs,
  );
});

it('a stream that is cut anywhere has not ended', () => {
  const capsules = [capsuleHead(3, false), Buffer.from('abc'), capsuleHead(70, true), Buffer.alloc(70)];
  const stream = Buffer.concat(capsules);
  for (let length = 0; length < stream.length; ++length) {
    const reader = new DataCapsules();
    reader.take(stream.subarray(0, length));
    expect(() => reader.finish()).toThrow(CapsuleError);
  }
});

it('hostile bytes end with an error or are taken, and never become more', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), sizes, (bytes, split) => {
      const reader = new DataCapsules();
      let taken = 0;
      try {
        for (const piece of pieces(Buffer.from(bytes), split)) taken += reader.take(piece).length;
        reader.finish();
      } catch (error) {
        expect(error).toBeInstanceOf(CapsuleError);
      }
      expect(taken).toBeLessThanOrEqual(bytes.length);
    }),
    runs,
  );
});

it('the heads of this draft, byte for byte', () => {
  expect(capsuleHead(5, false)).toEqual(Buffer.from([8, 5]));
  expect(capsuleHead(0, true)).toEqual(Buffer.from([9, 0]));
  expect(capsuleHead(65_536, false)).toEqual(Buffer.from([8, 0x80, 1, 0, 0]));
});

it.each([
  ['DATA behind FINAL_DATA', [9, 0, 8, 0]],
  ['a second FINAL_DATA', [9, 1, 0x61, 9, 0]],
  ['a length above 2^53', [8, ...new Array<number>(8).fill(0xff)]],
])('%s is an error', (_what, bytes) => {
  expect(() => new DataCapsules().take(Buffer.from(bytes))).toThrow(CapsuleError);
});
