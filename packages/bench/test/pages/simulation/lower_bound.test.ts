import { describe, expect, test } from 'vitest';
import { lowerBound } from '../../../src/pages/simulation/lower_bound.js';
import { networkAt } from '../../../src/pages/simulation/network.js';

describe('the lower bound', () => {
  // Rates of 32 and 56 Mbit/s: 4,000 and 7,000 bytes a millisecond. The first byte can be there after
  // 20 ms over LTE and 25 ms over Wi-Fi, the initial windows have 43,200 bytes.
  const rates = [32, 56];
  const low = networkAt('low');

  test('is a round trip and the transmission for little', () => {
    expect(lowerBound(4_000, low, rates)).toBeCloseTo(21);
    // 5 ms of LTE alone, then 1 ms of both.
    expect(lowerBound(5 * 4_000 + 11_000, low, rates)).toBeCloseTo(26);
  });

  test('waits for acknowledgements while the windows are small', () => {
    // Both windows have arrived after 30.8 ms (LTE) and 31.2 ms; acknowledgements let LTE go on at 40 ms.
    expect(lowerBound(2 * 43_200, low, rates)).toBeCloseTo(25 + 43_200 / 7_000);
    expect(lowerBound(2 * 43_200 + 4_000, low, rates)).toBeCloseTo(41);
  });

  test('comes near to bytes over capacity for much', () => {
    const bytes = 500e6;
    const transmission = bytes / 11_000;
    expect(lowerBound(bytes, low, rates)).toBeGreaterThan(transmission + 20);
    expect(lowerBound(bytes, low, rates)).toBeLessThan(transmission + 80);
  });

  test('allows for delays that jitter shortens', () => {
    expect(lowerBound(4_000, networkAt('medium'), rates)).toBeCloseTo(21 - 2 * 0.8);
  });
});
