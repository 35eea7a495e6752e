import { expect, test } from 'vitest';
import { ratesOf } from '../../src/http/measured_gateways.js';

const opening = { requests: 100, failed: 0, seconds: 0.2, cpuSeconds: 0.15 };

test('opening the connections counts neither for the rate nor for the processor time of requests', () => {
  const whole = { requests: 200_100, failed: 0, seconds: 4.2, cpuSeconds: 4.15 };
  const { requests_per_second, cpu_seconds_per_100000_requests } = ratesOf(opening, whole);
  expect(requests_per_second).toBeCloseTo(50_000, 6);
  expect(cpu_seconds_per_100000_requests).toBeCloseTo(2, 9);
});

test('a gateway that answers nothing is refused', () => {
  expect(() => ratesOf(opening, opening)).toThrow('the gateway answered no request');
});
