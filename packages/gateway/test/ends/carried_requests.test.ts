import { expect, it } from 'vitest';
import { CarriedRequests } from '../../src/ends/carried_requests.js';
import type { Exchange } from '../../src/http/exchange.js';

const exchange = (unread: number) => {
  const made = { bytesSent: 0, response: { writableLength: unread, destroyed: false, destroy: () => (made.response.destroyed = true) } };
  return made;
};
const enter = (carried: CarriedRequests, each: ReturnType<typeof exchange>, now: number): boolean => carried.enter(each as unknown as Exchange, now);

it('has room for so many requests, and for others when they leave', () => {
  const carried = new CarriedRequests(2);
  const [one, two, three] = [exchange(0), exchange(0), exchange(0)];
  expect([one, two, three].map((each) => enter(carried, each, 0))).toEqual([true, true, false]);
  expect(enter(carried, three, 3_600_000)).toBe(false);
  carried.leave(one as unknown as Exchange);
  expect(enter(carried, three, 0)).toBe(true);
  expect(carried.count).toBe(2);
});

it('gives up the request whose client has not read for the longest time, for another one', () => {
  const carried = new CarriedRequests(3);
  const [reads, stalled, waits] = [exchange(10), exchange(10), exchange(0)];
  for (const [index, each] of [reads, stalled, waits].entries()) enter(carried, each, index);
  reads.bytesSent = 1;
  expect(enter(carried, exchange(0), 4_000)).toBe(false);
  reads.bytesSent = 2;
  expect(enter(carried, exchange(0), 6_000)).toBe(true);
  expect([reads, stalled, waits].map(({ response }) => response.destroyed)).toEqual([false, true, false]);
  expect(enter(carried, exchange(0), 6_001)).toBe(false);
});
