import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decodePiece,
  encodeEnd,
  encodeFrameHead,
  encodeGroup,
  encodeList,
  type Piece,
} from '../../../src/media/channel/pieces.js';
import { makeFrame, MAX_TIMESTAMP } from '../../../src/media/model/frame.js';
import { MediaError } from '../../../src/media/model/media_error.js';

// A failing run prints its seed and path; put them here as `{ seed, path }` to replay it.
const runs = { numRuns: 1_000 };

const number = fc.maxSafeNat();
const origin = fc.bigInt({ min: 0n, max: 2n ** 62n - 1n });
const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });

const list = fc.record({
  origin,
  broadcasts: fc.array(fc.record({ id: number, name, hops: fc.array(origin, { maxLength: 31 }) }), { maxLength: 8 }),
});
const group = fc.record({
  ...{ broadcast: number, track: name, sequence: number, from: number },
  info: fc.record({
    ...{ priority: fc.nat(255), ordered: fc.boolean(), cache: number },
    timescale: fc.integer({ min: 1, max: 1_000_000_000 }),
  }),
});
const end = fc.record({ group: number, complete: fc.boolean() });

const encoded: fc.Arbitrary<{ bytes: Buffer; piece: Piece }> = fc.oneof(
  list.map((value) => ({ bytes: encodeList(value), piece: { kind: 'broadcasts' as const, ...value } })),
  group.map((value) => ({ bytes: encodeGroup(value), piece: { kind: 'group' as const, ...value } })),
  end.map((value) => ({ bytes: encodeEnd(value), piece: { kind: 'end' as const, ...value } })),
);

it('survives the round trip', () => {
  fc.assert(
    fc.property(encoded, ({ bytes, piece }) => {
      expect(decodePiece(bytes)).toEqual(piece);
    }),
    runs,
  );
});

it('carries frames in the bytes of moq-lite', () => {
  const timestamp = fc.integer({ min: 0, max: MAX_TIMESTAMP });
  fc.assert(
    fc.property(number, timestamp, timestamp, fc.uint8Array({ maxLength: 300 }), (of, before, at, payload) => {
      const { record } = makeFrame(before, at, payload);
      const piece = decodePiece(Buffer.concat([encodeFrameHead(of), record]));
      expect(piece).toMatchObject({ kind: 'frame', group: of });
      expect(Buffer.from((piece as { payload: Uint8Array }).payload)).toEqual(Buffer.from(payload));
    }),
    runs,
  );
});

it('refuses or reads any bytes', () => {
  const changed = fc.tuple(encoded, fc.nat(), fc.nat(255), fc.nat()).map(([{ bytes }, at, byte, cut]) => {
    bytes[at % bytes.length] = byte;
    return bytes.subarray(0, cut % (bytes.length + 1));
  });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), changed), (bytes) => {
      try {
        decodePiece(bytes);
      } catch (error) {
        if (!(error instanceof MediaError)) throw error;
        expect(error.kind).toBe('protocol_violation');
      }
    }),
    { numRuns: 5_000 },
  );
});

it('has the bytes of the reference', () => {
  const info = { priority: 100, ordered: false, cache: 10_000, timescale: 1_000 };
  const pieces = [
    encodeList({ origin: 9n, broadcasts: [{ id: 77, name: 'a/b', hops: [5n] }] }),
    encodeGroup({ broadcast: 77, track: 'video', info, sequence: 3, from: 0 }),
    Buffer.concat([encodeFrameHead(0), makeFrame(0, 40, Buffer.from('key')).record]),
    encodeEnd({ group: 0, complete: true }),
  ];
  expect(pieces.map((piece) => piece.toString('hex'))).toEqual([
    '000901404d03612f620105',
    '01404d05766964656f6400671043e80300',
    '02004050036b6579',
    '030001',
  ]);
});
