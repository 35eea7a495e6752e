import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ProtocolError,
  decodeRequestHead,
  decodeResponseHead,
  encodeRequestHead,
  encodeResponseHead,
  findHead,
  readVarint,
  varintLength,
  writeVarint,
} from '../src/protocol/index.js';

// A failing run prints its seed and path; put them here as `{ seed, path }` to replay it.
const runs = { numRuns: 2000 };

const characters = (alphabet: string, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength });
const letters = 'abcdefghijklmnopqrstuvwxyz';
const headers = fc.array(
  fc.tuple(
    characters(`${letters}-`, 20).filter(
      (name) => !['connection', 'keep-alive', 'upgrade'].includes(name),
    ),
    characters(`${letters}!"; =,é\xff`, 60).map((value) => value.trim()),
  ),
  { maxLength: 20 },
);
const request = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'M-SEARCH'),
  url: characters(`${letters}/?&=%20`, 60).map((path) => `https://a.test/${path}`),
  destination: fc.constantFrom('', 'document', 'style', 'script', 'image', 'font'),
  priority: fc.constantFrom('', 'u=1, i', 'u=7'),
  headers,
});

function head(bytes: Uint8Array): Uint8Array {
  const frame = findHead(bytes);
  expect(frame?.end).toBe(bytes.length);
  return bytes.subarray(frame!.start);
}

function allowProtocolError(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
}

test('variable-length integers survive the round trip', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (value) => {
      const bytes = new Uint8Array(8);
      expect(writeVarint(bytes, 0, value)).toBe(varintLength(value));
      expect(readVarint(bytes, 0)).toEqual({ value, end: varintLength(value) });
    }),
    runs,
  );
});

test('request heads survive the round trip', () => {
  fc.assert(
    fc.property(request, (value) => {
      expect(decodeRequestHead(head(encodeRequestHead(value)))).toEqual(value);
    }),
    runs,
  );
});

test('response heads survive the round trip', () => {
  fc.assert(
    fc.property(fc.record({ status: fc.integer({ min: 200, max: 599 }), headers }), (value) => {
      expect(decodeResponseHead(head(encodeResponseHead(value)))).toEqual(value);
    }),
    runs,
  );
});

test('hostile bytes are a head or a ProtocolError, nothing else', () => {
  const damaged = fc
    .tuple(request, fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 6 }))
    .map(([value, changes]) => {
      const bytes = encodeRequestHead(value);
      for (const [position, byte] of changes) bytes[position % bytes.length] = byte;
      return bytes;
    });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), damaged), (bytes) => {
      allowProtocolError(() => {
        const frame = findHead(bytes);
        if (frame === undefined) return;
        const whole = bytes.subarray(frame.start, frame.end);
        allowProtocolError(() => decodeResponseHead(whole));
        const decoded = decodeRequestHead(whole);
        expect(decodeRequestHead(head(encodeRequestHead(decoded)))).toEqual(decoded);
      });
    }),
    { numRuns: 20_000 },
  );
});
