import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { watchPulse } from '../../src/workers/pulse.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a thread is stuck once it was silent at three looks in a row, and is told of once', async () => {
  let waiting: (() => void) | undefined;
  const beat = (): Promise<void> => new Promise((resolve) => (waiting = resolve));
  const onSilence = vi.fn();
  watchPulse(beat, onSilence);
  for (const looks of [1, 2, 2]) {
    await vi.advanceTimersByTimeAsync(looks * 10_000);
    waiting?.();
  }
  expect(onSilence).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(onSilence).toHaveBeenCalledOnce();
});

it('one that is watched no more, or that has ended, is not stuck', async () => {
  const onSilence = vi.fn();
  watchPulse(() => new Promise(() => undefined), onSilence)();
  watchPulse(() => Promise.reject(new Error('it has ended')), onSilence);
  await vi.advanceTimersByTimeAsync(200_000);
  expect(onSilence).not.toHaveBeenCalled();
});
