import { describe, expect, it, vi } from 'vitest';
import { Places } from '../../src/slow_clients/places.js';
import type { Exchange } from '../../src/http/exchange.js';

let clients = 0;
/** Makes an exchange; each has a client of its own unless one is named. */
const exchange = (unread = 0, remoteAddress = `client ${(clients += 1)}`) => {
  const made = {
    bytesSent: 0,
    bytesReceived: 0,
    request: { remoteAddress },
    response: { writableLength: unread, destroyed: false, destroy: () => (made.response.destroyed = true) },
  };
  return made;
};
type Asked = ReturnType<typeof exchange>;
const enter = (places: Places, each: Asked, now = 0): boolean => places.enter(each as unknown as Exchange, now);
const leave = (places: Places, each: Asked): void => places.leave(each as unknown as Exchange);

it('has room for so many requests, and for others when they leave', () => {
  const places = new Places(2);
  const [one, two, three] = [exchange(), exchange(), exchange()];
  expect([one, two, three].map((each) => enter(places, each))).toEqual([true, true, false]);
  expect(enter(places, three, 3_600_000)).toBe(false);
  leave(places, one);
  expect(enter(places, three)).toBe(true);
  expect(places.count).toBe(2);
});

it('abandons the request whose client has not read for the longest time, for another one', () => {
  const places = new Places(3);
  const [reads, stalled, waits] = [exchange(10), exchange(10), exchange()];
  for (const [index, each] of [reads, stalled, waits].entries()) enter(places, each, index);
  reads.bytesSent = 1;
  expect(enter(places, exchange(), 4_000)).toBe(false);
  reads.bytesSent = 2;
  expect(enter(places, exchange(), 6_000)).toBe(true);
  expect([reads, stalled, waits].map(({ response }) => response.destroyed)).toEqual([false, true, false]);
  expect(enter(places, exchange(), 6_001)).toBe(false);
});

describe('one client', () => {
  /** How many of its requests get in. */
  const fill = (places: Places, client: string): number => {
    let count = 0;
    while (enter(places, exchange(10, client))) count += 1;
    return count;
  };

  it('leaves as much room as it takes, and so do two', () => {
    const places = new Places(256);
    expect(fill(places, 'one')).toBe(128);
    expect(fill(places, 'two')).toBe(64);
    expect(fill(places, 'three')).toBe(32);
    expect(enter(places, exchange())).toBe(true);
    expect(enter(places, exchange(10, 'one'))).toBe(false);
  });

  it('that leaves can come again, to as many places', () => {
    const places = new Places(8);
    const mine = Array.from({ length: 4 }, () => exchange(10, 'one'));
    for (let round = 0; round < 3; round++) {
      expect(mine.map((each) => enter(places, each))).toEqual([true, true, true, true]);
      // Said twice, it leaves once.
      for (const each of [...mine, ...mine]) leave(places, each);
      expect(places.count).toBe(0);
    }
  });

  it('that wants more gives up what it does not read, and nothing of others', () => {
    const places = new Places(8);
    const [other, mine] = [exchange(10), exchange(10, 'one')];
    for (const each of [other, mine]) enter(places, each);
    fill(places, 'one');
    expect(enter(places, exchange(10, 'one'), 10_000)).toBe(true);
    expect([other, mine].map(({ response }) => response.destroyed)).toEqual([false, true]);
  });
});

describe('the queue', () => {
  const asked = (remoteAddress: string, unread = 0) => {
    const controller = new AbortController();
    return Object.assign(exchange(unread, remoteAddress), { signal: controller.signal, controller });
  };
  const wait = (places: Places, each: Asked): Promise<string | undefined> => places.wait(each as unknown as Exchange);
  /** Returns the exchanges that have a place by now, in the order in which they got it. */
  const order = (places: Places, all: Asked[]): Asked[] => {
    const entered: Asked[] = [];
    for (const each of all) void wait(places, each).then((refusal) => refusal === undefined && entered.push(each));
    return entered;
  };

  it('serves networks in turn, and each of them in order', async () => {
    const places = new Places(4, { queue: 100, queueMs: 60_000 });
    const greedy = Array.from({ length: 6 }, () => asked('192.0.2.1'));
    const others = [asked('2001:db8:0:1::1'), asked('2001:db8:0:ff::2')];
    const entered = order(places, [...greedy, ...others]);
    await vi.waitFor(() => expect(entered).toHaveLength(3), 30_000);
    expect(entered).toEqual([greedy[0], greedy[1], others[0]]);
    expect([places.count, places.waiting]).toEqual([3, 5]);
    leave(places, greedy[0]!);
    await vi.waitFor(() => expect(entered).toHaveLength(4), 30_000);
    // The /56 is one network with one place, the greedy one has one, too, and came first.
    expect(entered[3]).toBe(greedy[2]);
    for (const each of [greedy[1]!, greedy[2]!, others[0]!]) leave(places, each);
    await vi.waitFor(() => expect(entered).toContain(others[1]), 30_000);
    expect(entered.filter((each) => greedy.includes(each as (typeof greedy)[number]))).toEqual(greedy.slice(0, 5));
  });

  it('is shared among networks', async () => {
    const places = new Places(1, { queue: 4, queueMs: 60_000 });
    await wait(places, asked('192.0.2.1'));
    const refusals: (string | undefined)[] = [];
    for (let index = 0; index < 4; index++)
      void wait(places, asked('192.0.2.1')).then((refusal) => refusals.push(refusal));
    void wait(places, asked('192.0.2.2'));
    await vi.waitFor(() => expect(refusals).toEqual(['full', 'full']), 30_000);
    expect(places.waiting).toBe(3);
  });

  it('is left by who gives up, and by who waits for too long', async () => {
    const places = new Places(1, { queue: 4, queueMs: 100 });
    const [holder, gone, late] = [asked('192.0.2.1'), asked('192.0.2.2'), asked('192.0.2.3')];
    await wait(places, holder);
    const [left, timedOut] = [wait(places, gone), wait(places, late)];
    gone.controller.abort();
    expect([await left, await timedOut]).toEqual(['left', 'late']);
    leave(places, holder);
    expect([places.count, places.waiting]).toEqual([0, 0]);
  });
});
