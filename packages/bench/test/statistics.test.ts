import { expect, test } from 'vitest';
import { summarize } from '../src/engine/engine_bench.js';
import { distribution, round } from '../src/measure/statistics.js';

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
  const sample = { generation_ns: 40e6, processing_ns: 50e6, server_ack_ns: 30e6, client_ack_ns: 20e6, stream_write_ns: 0, bytes: 100e6, packets: 76_000, acks: 38_000 };
  const result = summarize('x', '1', [sample, sample, sample]);
  expect(result.generation_gbps).toBe(20);
  expect(result.processing_gbps).toBe(16);
  expect(result.server_ack_us_per_1k).toBeCloseTo(789.5, 1);
  expect(result.stream_write_gbps).toBeNull();
  expect(result.runs).toBe(3);
});
