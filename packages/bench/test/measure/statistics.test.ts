import { expect, test } from 'vitest';
import { summarize } from '../../src/engine/engine_bench.js';
import { progressBar } from '../../src/measure/progress_bar.js';
import { distribution, fairnessIndex, round, summary } from '../../src/measure/statistics.js';

test('the median of an even number of values lies between the middle two', () => {
  expect(distribution([4, 1, 3, 2])).toEqual({ median: 2.5, quartiles: [1.75, 3.25] });
});

test('one value is its own median and quartiles', () => {
  expect(distribution([7])).toEqual({ median: 7, quartiles: [7, 7] });
});

test('no values have no median', () => {
  expect(() => distribution([])).toThrow(RangeError);
});

test('rounding keeps significant digits', () => {
  expect(round(12.34567, 3)).toBe(12.3);
  expect(round(0.0012345, 2)).toBe(0.0012);
});

test('goodput counts application bits over the time of one side alone', () => {
  const sample = {
    generation_ns: 40e6,
    processing_ns: 50e6,
    server_ack_ns: 30e6,
    client_ack_ns: 20e6,
    stream_write_ns: 0,
    bytes: 100e6,
    packets: 76_000,
    acks: 38_000,
  };
  const result = summarize('x', '1', [sample, sample, sample]);
  expect(result.generation_gbps).toBe(20);
  expect(result.processing_gbps).toBe(16);
  expect(result.server_ack_us_per_1k).toBeCloseTo(789.5, 1);
  expect(result.stream_write_gbps).toBeNull();
  expect(result.runs).toBe(3);
});

test('a summary has the interval of the mean by Student', () => {
  const { mean, median, p95, ci95 } = summary([10, 12, 14, 16, 18]);
  expect([mean, median]).toEqual([14, 14]);
  expect(p95).toBeCloseTo(17.6);
  // The standard deviation is sqrt(10), t for 4 degrees of freedom 2.776.
  expect(ci95?.[0]).toBeCloseTo(14 - 2.776 * Math.sqrt(2), 3);
  expect(ci95?.[1]).toBeCloseTo(14 + 2.776 * Math.sqrt(2), 3);
  expect(summary([5]).ci95).toBeNull();
});

test.each([
  [11, 2.228],
  [12, 2.201],
  [20, 2.093],
  [100, 1.984],
])('with %i values the interval has the quantile of the table', (count, quantile) => {
  const values = Array.from({ length: count }, (_, index) => index);
  const deviation = Math.sqrt((count * (count + 1)) / 12);
  const { mean, ci95 } = summary(values);
  expect(((ci95?.[1] ?? 0) - mean) / (deviation / Math.sqrt(count))).toBeCloseTo(quantile, 2);
});

test('fairness is 1 for equal shares and 1/n for a single winner', () => {
  expect(fairnessIndex([3, 3, 3])).toBe(1);
  expect(fairnessIndex([1, 0, 0, 0])).toBe(0.25);
  expect(fairnessIndex([1, 3])).toBe(0.8);
});

test('a progress bar tells what is left', () => {
  expect(progressBar(5, 20, 10)).toBe('#####............... 5 of 20, about 30 s left');
  expect(progressBar(1, 100, 10)).toContain('about 17 min left');
  expect(progressBar(20, 20, 40)).toBe('#################### 20 of 20, about 0 s left');
});
