import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  MAX_PRIORITY_BYTES,
  PRIORITY_LIMITS,
  ProtocolError,
  decodePriority,
  decodeRequestHead,
  decodeResponseHead,
  encodePriority,
  encodeRequestHead,
  encodeResponseHead,
  findHead,
  readVarint,
  varintLength,
  writeVarint,
  type StreamPriority,
} from '../src/protocol/index.js';

// A failing run prints its seed and path; put them here as `{ seed, path }` to replay it.
const runs = { numRuns: 2000 };

const characters = (alphabet: string, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength });
const letters = 'abcdefghijklmnopqrstuvwxyz';
const headers = fc.array(
  fc.tuple(
    characters(`${letters}-`, 20).filter((name) => !['connection', 'keep-alive', 'upgrade'].includes(name)),
    characters(`${letters}!"; =,é\xff`, 60).map((value) => value.trim()),
  ),
  { maxLength: 20 },
);
const node = fc.integer({ min: 1, max: PRIORITY_LIMITS.node });
const dependency = fc
  .record({
    node,
    parent: fc.oneof(fc.constant(0), node),
    weight: fc.integer({ min: 1, max: 256 }),
    exclusive: fc.boolean(),
  })
  .filter((value) => value.node !== value.parent);
const priority: fc.Arbitrary<StreamPriority> = fc
  .tuple(
    fc.integer({ min: 0, max: 7 }),
    fc.boolean(),
    fc.uniqueArray(dependency, { maxLength: 1 + PRIORITY_LIMITS.groups, selector: (value) => value.node }),
  )
  .map(([urgency, incremental, [own, ...groups]]) => ({
    urgency,
    incremental,
    ...(own && { dependency: own }),
    ...(groups.length > 0 && { groups }),
  }));
const request = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'M-SEARCH'),
  url: characters(`${letters}/?&=%20`, 60).map((path) => `https://a.test/${path}`),
  destination: fc.constantFrom('', 'document', 'style', 'script', 'image', 'font'),
  priority,
  credentials: fc.constantFrom('omitted', 'none', 'withheld'),
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

test('priorities survive the round trip, and none is longer than the limit', () => {
  fc.assert(
    fc.property(priority, (value) => {
      const bytes = encodePriority(value);
      expect(bytes.length).toBeLessThanOrEqual(MAX_PRIORITY_BYTES);
      expect(decodePriority(bytes)).toEqual(value);
    }),
    runs,
  );
});

test('hostile bytes are a priority that can be sent on, or a ProtocolError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: MAX_PRIORITY_BYTES + 2 }), (bytes) => {
      allowProtocolError(() => {
        const decoded = decodePriority(bytes);
        expect(decodePriority(encodePriority(decoded))).toEqual(decoded);
      });
    }),
    { numRuns: 20_000 },
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
