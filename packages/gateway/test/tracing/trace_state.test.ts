import { array, assert, property, string, stringMatching, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundedTraceState } from '../../src/tracing/trace_state.js';

describe('a tracestate', () => {
  it.each([
    ['one member', 'rojo=00f067aa0ba902b7', 'rojo=00f067aa0ba902b7'],
    ['spaces and empty members', ' rojo=1 ,, congo=t61rcWkgMzE\t', 'rojo=1,congo=t61rcWkgMzE'],
    ['the key of a tenant', 'fw529a3039@dt=FfFfFf', 'fw529a3039@dt=FfFfFf'],
    ['spaces in a value', 'a= b c', 'a= b c'],
  ])('is passed on with %s', (_what, field, passed) => {
    expect(boundedTraceState(field)).toBe(passed);
  });

  it.each([
    ['nothing in it', ' , ,'],
    ['a key alone', 'rojo'],
    ['no key', '=1'],
    ['no value', 'rojo='],
    ['an upper-case key', 'Rojo=1'],
    ['two equals signs', 'a=1=2'],
    ['a key twice', 'a=1,b=2,a=3'],
    ['a control character', 'a=1\u0000'],
    ['text beyond ASCII', 'a=é'],
    ['a value that is too long', `a=${'x'.repeat(257)}`],
    ['one bad member among others', 'a=1,b=2,?=3'],
    ['more than is read', `${'a=1,'.repeat(2_048)}b=2`],
  ])('is left out with %s', (_what, field) => {
    expect(boundedTraceState(field)).toBeUndefined();
  });

  it('loses what exceeds 32 members, or 512 octets, at its end', () => {
    const many = Array.from({ length: 40 }, (_, index) => `k${index}=v`);
    expect(boundedTraceState(many.join(','))).toBe(many.slice(0, 32).join(','));
    const long = Array.from({ length: 5 }, (_, index) => `k${index}=${'v'.repeat(150)}`);
    expect(boundedTraceState(long.join(','))).toBe(long.slice(0, 3).join(','));
  });

  it('is bounded, and the same when it is read again', () => {
    const members = array(tuple(stringMatching(/^[a-z][a-z0-9]{0,20}$/), stringMatching(/^[!-+\--<>-~]{1,60}$/)), {
      maxLength: 60,
    });
    assert(
      property(members, (list) => {
        const passed = boundedTraceState(list.map(([key, value]) => `${key}=${value}`).join(','));
        if (passed === undefined) return;
        expect(passed.length).toBeLessThanOrEqual(512);
        expect(passed.split(',').length).toBeLessThanOrEqual(32);
        expect(boundedTraceState(passed)).toBe(passed);
      }),
    );
  });

  it('has no character that a field may not have', () => {
    assert(
      property(string({ unit: 'binary' }), (text) => {
        expect(boundedTraceState(`a=${text}`) ?? 'none').toMatch(/^[ -~]+$/);
      }),
    );
  });
});
