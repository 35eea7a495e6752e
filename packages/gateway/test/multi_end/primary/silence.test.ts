import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Silence } from '../../../src/multi_end/primary/silence.js';

const ask = vi.fn();
const onSilence = vi.fn();
let silence: Silence;
beforeEach(() => {
  vi.useFakeTimers();
  vi.resetAllMocks();
  silence = new Silence({ stepMs: 200, steps: 4, ask, onSilence });
});
afterEach(() => {
  silence.stop();
  vi.useRealTimers();
});

const told = (): [boolean, number] => [silence.silent, onSilence.mock.calls.length];

it('tells once that a node which was asked says nothing, until it is heard again', () => {
  silence.watch();
  vi.advanceTimersByTime(750);
  expect([ask.mock.calls.length, ...told()]).toEqual([3, false, 0]);
  vi.advanceTimersByTime(100);
  expect(told()).toEqual([true, 1]);
  silence.note();
  vi.advanceTimersByTime(2_000);
  expect(told()).toEqual([true, 1]);
  silence.heard();
  expect(told()).toEqual([false, 1]);
  vi.advanceTimersByTime(1_000);
  expect(told()).toEqual([true, 2]);
});

it('blames no node that is heard, that nobody waits for, or while this process stands still', () => {
  silence.watch();
  for (let look = 0; look < 10; look += 1) {
    vi.advanceTimersByTime(400);
    silence.heard();
  }
  silence.watch();
  silence.stop();
  vi.advanceTimersByTime(5_000);
  expect(told()).toEqual([false, 0]);
  // A late timer is one look.
  silence.watch();
  vi.setSystemTime(Date.now() + 60_000);
  vi.advanceTimersByTime(200);
  expect(told()).toEqual([false, 0]);
});

it('heeds what has come when it looks for the last time', () => {
  ask.mockImplementation(() => {
    if (ask.mock.calls.length === 4) setImmediate(() => silence.heard());
  });
  silence.watch();
  vi.advanceTimersByTime(900);
  expect([ask.mock.calls.length, ...told()]).toEqual([4, false, 0]);
});

it('takes the word of another connection', () => {
  silence.note();
  silence.note();
  expect(told()).toEqual([true, 1]);
});
