import type { ServedConnection } from '@sheaf/native';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { maxStrangers, Strangers } from '../../../src/multi_end/backbone/strangers.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

let turnedAway: ServedConnection[];
let strangers: Strangers;
beforeEach(() => {
  turnedAway = [];
  strangers = new Strangers(5_000);
});

function call(address: string): ServedConnection {
  const connection = {
    status: () => ({ paths: [{ remote: { address } }] }),
    close: () => void turnedAway.push(connection),
  } as unknown as ServedConnection;
  strangers.add(connection);
  return connection;
}

test('who does not introduce itself in time is turned away, and nobody else', () => {
  const [silent, known] = [call('192.0.2.1'), call('192.0.2.2')];
  strangers.delete(known);
  vi.advanceTimersByTime(4_999);
  expect(turnedAway).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(turnedAway).toEqual([silent]);
});

test('a crowd of one address takes no places from others', () => {
  const node = call('192.0.2.1');
  const crowd = Array.from({ length: maxStrangers + 40 }, () => call('198.51.100.9'));
  expect(turnedAway).toEqual(crowd.slice(0, 41));
  expect(turnedAway).not.toContain(node);
});
