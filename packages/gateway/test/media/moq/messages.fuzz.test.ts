import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MediaError } from '../../../src/media/model/media_error.js';
import { Cursor } from '../../../src/media/moq/cursor.js';
import {
  decodeAnnouncement,
  decodeAnnounceOk,
  decodeAnnounceRequest,
  decodeFetch,
  decodeGroupHead,
  decodeSetup,
  decodeSubscribe,
  decodeSubscribeResponse,
  decodeSubscribeUpdate,
  decodeTrackInfo,
  decodeTrackRequest,
  encodeAnnouncement,
  encodeAnnounceOk,
  encodeAnnounceRequest,
  encodeFetch,
  encodeGroupHead,
  encodeSetup,
  encodeSubscribe,
  encodeSubscribeResponse,
  encodeSubscribeUpdate,
  encodeTrackInfo,
  encodeTrackRequest,
  type SubscribeResponse,
} from '../../../src/media/moq/messages.js';

// A failing run prints its seed and path; put them here as `{ seed, path }` to replay it.
const runs = { numRuns: 1_000 };

const name = fc.string({ unit: 'grapheme', maxLength: 40 });
const origin = fc.bigInt({ min: 0n, max: 2n ** 62n - 1n });
const number = fc.maxSafeNat();
const byte = fc.nat(255);
const group = fc.option(fc.nat(2 ** 40), { nil: undefined });
const options = { priority: byte, ordered: fc.boolean(), maxLatency: number, start: group, end: group };
const response: fc.Arbitrary<SubscribeResponse> = fc.oneof(
  fc.record({ kind: fc.constant('start' as const), group: number }),
  fc.record({ kind: fc.constant('end' as const), group: number }),
  fc.record({ kind: fc.constant('drop' as const), first: number, last: number, code: number }),
);

interface Codec {
  name: string;
  values: fc.Arbitrary<unknown>;
  encode(value: never): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

const codecs: Codec[] = [
  {
    name: 'ANNOUNCE_REQUEST',
    values: fc.record({ prefix: name, excludeHop: origin }),
    encode: encodeAnnounceRequest,
    decode: decodeAnnounceRequest,
  },
  {
    name: 'ANNOUNCE_OK',
    values: fc.record({ origin, active: number }),
    encode: encodeAnnounceOk,
    decode: decodeAnnounceOk,
  },
  {
    name: 'ANNOUNCE_BROADCAST',
    values: fc.record({ active: fc.boolean(), suffix: name, hops: fc.array(origin, { maxLength: 32 }) }),
    encode: encodeAnnouncement,
    decode: decodeAnnouncement,
  },
  {
    name: 'TRACK',
    values: fc.record({ broadcast: name, track: name }),
    encode: encodeTrackRequest,
    decode: decodeTrackRequest,
  },
  {
    name: 'TRACK_INFO',
    values: fc.record({
      ...{ priority: byte, ordered: fc.boolean(), cache: number },
      timescale: fc.integer({ min: 1, max: 1_000_000_000 }),
    }),
    encode: encodeTrackInfo,
    decode: decodeTrackInfo,
  },
  {
    name: 'SUBSCRIBE',
    values: fc.record({ id: number, broadcast: name, track: name, ...options }),
    encode: encodeSubscribe,
    decode: decodeSubscribe,
  },
  {
    name: 'SUBSCRIBE_UPDATE',
    values: fc.record(options),
    encode: encodeSubscribeUpdate,
    decode: decodeSubscribeUpdate,
  },
  {
    name: 'FETCH',
    values: fc.record({ broadcast: name, track: name, priority: byte, group: number }),
    encode: encodeFetch,
    decode: decodeFetch,
  },
  {
    name: 'GROUP',
    values: fc.record({ subscription: number, sequence: number }),
    encode: encodeGroupHead,
    decode: decodeGroupHead,
  },
];

/** The fields of a message, behind its length. */
function fieldsOf(message: Uint8Array): Uint8Array {
  const cursor = new Cursor(message);
  const fields = cursor.raw(cursor.varint());
  cursor.end();
  return fields;
}

function expectViolationOrValue(decode: () => unknown): void {
  try {
    decode();
  } catch (error) {
    if (!(error instanceof MediaError)) throw error;
    expect(error.kind).toBe('protocol_violation');
  }
}

test.each(codecs)('$name survives the round trip', ({ values, encode, decode }) => {
  fc.assert(
    fc.property(values, (value) => {
      expect(decode(fieldsOf(encode(value as never)))).toEqual(value);
    }),
    runs,
  );
});

test.each(codecs)('$name that is cut or has more bytes is a violation', ({ values, encode, decode }) => {
  fc.assert(
    fc.property(values, (value) => {
      const fields = fieldsOf(encode(value as never));
      for (let length = 0; length < fields.length; length += 1)
        expect(() => decode(fields.subarray(0, length))).toThrow(MediaError);
      expect(() => decode(Buffer.concat([fields, Buffer.of(0)]))).toThrow(MediaError);
    }),
    { numRuns: 100 },
  );
});

test.each(codecs)('hostile bytes are a $name or a violation, nothing else', ({ values, encode, decode }) => {
  const damaged = fc.tuple(values, fc.array(fc.tuple(fc.nat(400), byte), { maxLength: 6 })).map(([value, changes]) => {
    const bytes = Uint8Array.from(fieldsOf(encode(value as never)));
    for (const [position, change] of changes) bytes[position % bytes.length] = change;
    return bytes;
  });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), damaged), (bytes) => {
      expectViolationOrValue(() => {
        const value = decode(bytes);
        expect(decode(fieldsOf(encode(value as never)))).toEqual(value);
      });
    }),
    { numRuns: 5_000 },
  );
});

test('responses to a subscription survive the round trip', () => {
  fc.assert(
    fc.property(response, (value) => {
      const cursor = new Cursor(encodeSubscribeResponse(value));
      expect(decodeSubscribeResponse(cursor.varint(), cursor.raw(cursor.varint()))).toEqual(value);
      cursor.end();
    }),
    runs,
  );
});

test('hostile bytes are a response to a subscription or a violation', () => {
  fc.assert(
    fc.property(fc.nat(5), fc.uint8Array({ maxLength: 40 }), (type, bytes) =>
      expectViolationOrValue(() => decodeSubscribeResponse(type, bytes)),
    ),
    { numRuns: 5_000 },
  );
});

test('hostile bytes are a SETUP or a violation', () => {
  fc.assert(
    fc.property(origin, (value) => decodeSetup(fieldsOf(encodeSetup(value)))),
    runs,
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => expectViolationOrValue(() => decodeSetup(bytes))),
    { numRuns: 5_000 },
  );
});

// The bytes that `@moq/net` 0.2.8 sends.
test.each([
  ['ANNOUNCE_REQUEST', encodeAnnounceRequest({ prefix: 'a', excludeHop: 300n }), '040161412c'],
  [
    'SUBSCRIBE',
    encodeSubscribe({
      id: 1,
      broadcast: 'b',
      track: 'v',
      priority: 60,
      ordered: false,
      maxLatency: 0,
      start: undefined,
      end: 7,
    }),
    '0a0101620176' + '3c00000008',
  ],
  [
    'TRACK_INFO',
    encodeTrackInfo({ priority: 0, ordered: true, cache: 5_000, timescale: 1_000_000 }),
    '080001' + '5388' + '800f4240',
  ],
  ['SUBSCRIBE_DROP', encodeSubscribeResponse({ kind: 'drop', first: 3, last: 4, code: 2 }), '0203030402'],
])('%s has these bytes', (_name, bytes, expected) => {
  expect(Buffer.from(bytes).toString('hex')).toBe(expected);
});
