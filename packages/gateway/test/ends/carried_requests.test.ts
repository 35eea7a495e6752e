import { describe, expect, it } from 'vitest';
import { CarriedRequests } from '../../src/ends/carried_requests.js';
import type { Exchange } from '../../src/http/exchange.js';

let clients = 0;
/** Of a client of its own, if none is named. */
const exchange = (unread = 0, remoteAddress = `client ${(clients += 1)}`) => {
  const made = { bytesSent: 0, request: { remoteAddress }, response: { writableLength: unread, destroyed: false, destroy: () => (made.response.destroyed = true) } };
  return made;
};
type Asked = ReturnType<typeof exchange>;
const enter = (carried: CarriedRequests, each: Asked, now = 0): boolean => carried.enter(each as unknown as Exchange, now);
const leave = (carried: CarriedRequests, each: Asked): void => carried.leave(each as unknown as Exchange);

it('has room for so many requests, and for others when they leave', () => {
  const carried = new CarriedRequests(2);
  const [one, two, three] = [exchange(), exchange(), exchange()];
  expect([one, two, three].map((each) => enter(carried, each))).toEqual([true, true, false]);
  expect(enter(carried, three, 3_600_000)).toBe(false);
  leave(carried, one);
  expect(enter(carried, three)).toBe(true);
  expect(carried.count).toBe(2);
});

it('gives up the request whose client has not read for the longest time, for another one', () => {
  const carried = new CarriedRequests(3);
  const [reads, stalled, waits] = [exchange(10), exchange(10), exchange()];
  for (const [index, each] of [reads, stalled, waits].entries()) enter(carried, each, index);
  reads.bytesSent = 1;
  expect(enter(carried, exchange(), 4_000)).toBe(false);
  reads.bytesSent = 2;
  expect(enter(carried, exchange(), 6_000)).toBe(true);
  expect([reads, stalled, waits].map(({ response }) => response.destroyed)).toEqual([false, true, false]);
  expect(enter(carried, exchange(), 6_001)).toBe(false);
});

describe('one client', () => {
  /** How many of its requests get in. */
  const fill = (carried: CarriedRequests, client: string): number => {
    let count = 0;
    while (enter(carried, exchange(10, client))) count += 1;
    return count;
  };

  it('leaves as much room as it takes, and so do two', () => {
    const carried = new CarriedRequests(256);
    expect(fill(carried, 'one')).toBe(128);
    expect(fill(carried, 'two')).toBe(64);
    expect(fill(carried, 'three')).toBe(32);
    expect(enter(carried, exchange())).toBe(true);
    expect(enter(carried, exchange(10, 'one'))).toBe(false);
  });

  it('that leaves can come again, to as many places', () => {
    const carried = new CarriedRequests(8);
    const mine = Array.from({ length: 4 }, () => exchange(10, 'one'));
    for (let round = 0; round < 3; round++) {
      expect(mine.map((each) => enter(carried, each))).toEqual([true, true, true, true]);
      // Said twice, it leaves once.
      for (const each of [...mine, ...mine]) leave(carried, each);
      expect(carried.count).toBe(0);
    }
  });

  it('that wants more gives up what it does not read, and nothing of others', () => {
    const carried = new CarriedRequests(8);
    const [other, mine] = [exchange(10), exchange(10, 'one')];
    for (const each of [other, mine]) enter(carried, each);
    fill(carried, 'one');
    expect(enter(carried, exchange(10, 'one'), 10_000)).toBe(true);
    expect([other, mine].map(({ response }) => response.destroyed)).toEqual([false, true]);
  });
});
