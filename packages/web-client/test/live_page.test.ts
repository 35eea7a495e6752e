import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { formatBytes, formatNumber, median } from '../src/page/live/format.js';
import { BUCKETS, BUCKET_MS, ThroughputHistory } from '../src/page/live/history.js';
import { Probe } from '../src/page/live/probe.js';

describe('the throughput history', () => {
  test('turns bytes into Mbit/s and leaves the unfinished column out', () => {
    const history = new ThroughputHistory(0);
    history.add('sent', 31_250, 10);
    history.add('returned', 62_500, 20);
    history.add('sent', 1_000_000, BUCKET_MS);
    expect(history.rates(BUCKET_MS + 1)).toEqual([{ sent: 1, returned: 2 }]);
  });

  test('shows silence as zero and forgets after a minute', () => {
    const history = new ThroughputHistory(0);
    history.add('sent', 1_000, 0);
    expect(history.rates(3 * BUCKET_MS)).toHaveLength(3);
    const later = history.rates(10 * BUCKETS * BUCKET_MS);
    expect(later).toHaveLength(BUCKETS - 1);
    expect(later.every(({ sent }) => sent === 0)).toBe(true);
  });
});

describe('the datagram probe', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('measures what returns and counts what does not', () => {
    const sent: Uint8Array[] = [];
    const probe = new Probe((bytes) => sent.push(bytes));
    probe.start(() => sent.length < 3);
    vi.advanceTimersByTime(300);
    vi.advanceTimersByTime(20);
    probe.receive(sent[2]!);
    probe.receive(sent[2]!); // Twice: networks do that.
    probe.receive(Uint8Array.of(1)); // Not one of ours.
    expect(probe.history().map(({ milliseconds }) => milliseconds)).toEqual([undefined, undefined, 20]);
    vi.advanceTimersByTime(3_000);
    expect([probe.returned, probe.lost]).toEqual([1, 2]);
    probe.receive(sent[0]!); // Too late: it has been counted.
    expect([probe.returned, probe.lost]).toEqual([1, 2]);
    vi.advanceTimersByTime(60_000);
    expect(probe.history()).toEqual([]);
  });
});

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KB'],
  [5 * 1024 ** 2, '5.00 MB'],
])('%i bytes read %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test.each([
  [NaN, '–'],
  [Infinity, '–'],
  [0.5, '0.50'],
  [12.34, '12.3'],
  [456.7, '457'],
])('the number %d reads %s', (value, text) => expect(formatNumber(value)).toBe(text));

test('the median of nothing is no number', () => {
  expect(median([])).toBeNaN();
  expect(median([5, 1, 3])).toBe(3);
});
