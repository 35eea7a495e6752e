import { assert, integer, property, string, stringMatching } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { childOf, newTrace, parseTraceparent, traceContextOf, traceFields } from '../../src/tracing/trace_context.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const good = `00-${traceId}-${spanId}-01`;
const zeros = (octets: number): Uint8Array => new Uint8Array(octets);

describe('a traceparent', () => {
  it('is read', () => {
    expect(parseTraceparent(good)).toEqual({ traceId, spanId, flags: 1 });
    expect(parseTraceparent(`00-${traceId}-${spanId}-00`)?.flags).toBe(0);
  });

  it('keeps the two known flags alone', () => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-ff`)?.flags).toBe(3);
    expect(parseTraceparent(`00-${traceId}-${spanId}-fc`)?.flags).toBe(0);
  });

  it.each([
    ['nothing', ''],
    ['a short one', good.slice(0, -1)],
    ['more than version 00 has', `${good}-00`],
    ['a space at the end', `${good} `],
    ['a space at the begin', ` ${good}`],
    ['the invalid version', good.replace(/^00/, 'ff')],
    ['upper case', good.toUpperCase()],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['other separators', good.replaceAll('-', '_')],
    ['a digit that is none', good.replace('4bf', '4bg')],
    ['digits of another alphabet', good.replace('4bf', '４bf')],
    ['a line end', `${good}\n`],
    ['two of them', `${good}, ${good}`],
    ['a later version with something attached', `01-${traceId}-${spanId}-01x`],
    ['a later version without end', `01-${traceId}-${spanId}-01-${'a'.repeat(1e6)}`],
    ['a million dashes', '-'.repeat(1e6)],
  ])('is refused with %s', (_what, field) => {
    expect(parseTraceparent(field)).toBeUndefined();
  });

  it('of a later version is read as far as version 00 goes', () => {
    expect(parseTraceparent(`01-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, flags: 1 });
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what the future brings`)).toEqual({
      traceId,
      spanId,
      flags: 1,
    });
  });

  it('that is sent twice counts as none', () => {
    expect(traceContextOf({ traceparent: [good, good] })).toBeUndefined();
  });

  it('is written as it was read', () => {
    const id = (digits: number) => stringMatching(new RegExp(`^[0-9a-f]{${digits - 1}}[1-9a-f]$`));
    assert(
      property(id(32), id(16), integer({ min: 0, max: 3 }), (traceId, spanId, flags) => {
        const { traceparent } = traceFields({ traceId, spanId, flags });
        expect(traceparent).toHaveLength(55);
        expect(parseTraceparent(traceparent)).toEqual({ traceId, spanId, flags });
      }),
    );
  });

  it('is never taken in another form than it has', () => {
    assert(
      property(string(), integer({ min: 0, max: 54 }), (text, at) => {
        const changed = (good.slice(0, at) + text + good.slice(at + text.length)).slice(0, 300);
        const parsed = parseTraceparent(changed);
        if (parsed)
          expect(changed).toMatch(/^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/);
      }),
    );
  });
});

describe('the ids that a node makes', () => {
  it('are of the random octets', () => {
    const random = (octets: number): Uint8Array => new Uint8Array(octets).fill(0xab);
    expect(newTrace(0, random)).toEqual({ traceId: 'ab'.repeat(16), spanId: 'ab'.repeat(8), flags: 0 });
    expect(childOf({ traceId, spanId, flags: 1, state: 'a=b' }, random)).toEqual({
      traceId,
      spanId: 'ab'.repeat(8),
      flags: 1,
      state: 'a=b',
    });
  });

  it('are valid even without randomness', () => {
    const { traceparent } = traceFields(newTrace(1, zeros));
    expect(parseTraceparent(traceparent)).toBeDefined();
  });

  it('are sampled in the share that is asked for', () => {
    let next = 0;
    // Counts in the first 12 of the 52 last bits of each trace id.
    const spread = (octets: number): Uint8Array => {
      const bytes = Buffer.alloc(octets, 1);
      if (octets === 16) bytes.writeUInt16BE(next++, 9);
      return bytes;
    };
    const sampled = (share: number): number => {
      next = 0;
      return Array.from({ length: 4096 }, () => newTrace(share, spread).flags).filter((flags) => flags === 1).length;
    };
    expect([sampled(0), sampled(1)]).toEqual([0, 4096]);
    expect(sampled(0.25)).toBe(1024);
  });
});
