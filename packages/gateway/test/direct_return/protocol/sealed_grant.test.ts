import { randomBytes } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import {
  grantKeyBytes,
  GrantOpener,
  GrantRefused,
  GrantSealer,
  maxGrant,
  maxSealedGrant,
} from '../../../src/direct_return/protocol/sealed_grant.js';
import { OnceEach } from '../../../src/direct_return/protocol/once_each.js';

const session = randomBytes(80);
const secret = Buffer.from('key, IV and header key of a phase');
let key: Buffer;
let sealer: GrantSealer;
let opener: GrantOpener;
beforeEach(() => {
  key = randomBytes(grantKeyBytes);
  sealer = new GrantSealer(Buffer.from(key), session);
  opener = new GrantOpener(Buffer.from(key), session);
});

function refusal(sealed: Buffer, by = opener): string {
  try {
    by.open(sealed);
    return 'taken';
  } catch (error) {
    if (!(error instanceof GrantRefused)) throw error;
    return error.refusal;
  }
}

it('a grant arrives as it was, and the plain one is wiped', () => {
  const plain = Buffer.from(secret);
  const sealed = sealer.seal(plain);
  expect(plain.every((byte) => byte === 0)).toBe(true);
  expect(sealed.includes(secret)).toBe(false);
  expect(opener.open(sealed)).toEqual(secret);
});

it('the same grant never looks the same', () => {
  const sealed = Array.from({ length: 100 }, () => sealer.seal(Buffer.from(secret)).toString('hex'));
  expect(new Set(sealed).size).toBe(100);
});

it('grants may overtake each other or get lost, and each is taken once', () => {
  const sealed = Array.from({ length: 50 }, (_, i) => sealer.seal(Buffer.from([i])));
  for (let i = sealed.length - 1; i >= 0; i -= 2) expect(opener.open(sealed[i]!)).toEqual(Buffer.from([i]));
  for (let i = 0; i < sealed.length; i += 2) expect(opener.open(sealed[i]!)).toEqual(Buffer.from([i]));
  for (const each of sealed) expect(refusal(each)).toBe('repeated');
});

it('a grant of another key, or for another connection, is refused', () => {
  const sealed = sealer.seal(Buffer.from(secret));
  expect(refusal(sealed, new GrantOpener(randomBytes(grantKeyBytes), session))).toBe('unreadable');
  expect(refusal(sealed, new GrantOpener(Buffer.from(key), randomBytes(80)))).toBe('unreadable');
});

it('a grant that is cut, extended or damaged anywhere is refused, and does not use up its counter', () => {
  const sealed = sealer.seal(Buffer.from(secret));
  for (let length = 0; length < sealed.length; length++) expect(refusal(sealed.subarray(0, length))).toBe('unreadable');
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const damaged = Buffer.from(sealed);
    damaged[bit >> 3]! ^= 1 << (bit & 7);
    expect(refusal(damaged)).toBe('unreadable');
  }
  expect(refusal(Buffer.concat([sealed, Buffer.from([0])]))).toBe('unreadable');
  expect(refusal(sealed)).toBe('taken');
});

it('sizes are bounded on both sides', () => {
  expect(() => sealer.seal(Buffer.alloc(maxGrant + 1))).toThrow(RangeError);
  expect(opener.open(sealer.seal(Buffer.alloc(maxGrant, 1)))).toHaveLength(maxGrant);
  expect(opener.open(sealer.seal(Buffer.alloc(0)))).toHaveLength(0);
  expect(refusal(Buffer.alloc(maxSealedGrant + 1))).toBe('unreadable');
});

it('nothing is sealed or opened once the key is wiped', () => {
  const held = { sealer: Buffer.from(key), opener: Buffer.from(key) };
  const [closing, closed] = [new GrantSealer(held.sealer, session), new GrantOpener(held.opener, session)];
  const sealed = closing.seal(Buffer.from(secret));
  closing.close();
  closed.close();
  for (const each of Object.values(held)) expect(each.every((byte) => byte === 0)).toBe(true);
  expect(() => closing.seal(Buffer.from(secret))).toThrow(RangeError);
  expect(refusal(sealed, closed)).toBe('unreadable');
});

it('counters are taken once each, as by a memory of all of them', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const window = 1 + (seed % 9);
    const counters = new OnceEach(window);
    const taken = new Set<number>();
    let largest = 0;
    let state = seed;
    const draw = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
    for (let i = 0; i < 500; i++) {
      // Mostly near the largest, at times far above it
      const counter = Math.max(0, largest - 12 + draw(16)) + (draw(50) === 0 ? draw(40) : 0);
      const expected = counter > 0 && counter > largest - window && !taken.has(counter);
      expect(counters.accept(counter), `seed ${seed}, step ${i}: ${counter} after ${largest}`).toBe(expected);
      if (expected) taken.add(counter);
      if (expected) largest = Math.max(largest, counter);
    }
  }
});

it('a far counter costs no more than a near one', () => {
  const counters = new OnceEach(4_096);
  expect(counters.accept(1)).toBe(true);
  expect(counters.accept(2 ** 48 - 1)).toBe(true);
  expect(counters.accept(2)).toBe(false);
});
