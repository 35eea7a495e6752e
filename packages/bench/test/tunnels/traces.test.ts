import { expect, test } from 'vitest';
import { meanRate, readRates, toOpportunities, TRACES } from '../../src/tunnels/traces.js';

const opportunities = (rates: number[]): number[] => toOpportunities(rates).trim().split('\n').map(Number);

test('a rate becomes as many packets as it carries, evenly spread', () => {
  // 0.6 Mbit/s are ten packets of 1500 bytes in 0.2 s.
  expect(opportunities([0.6])).toEqual([20, 40, 60, 80, 100, 120, 140, 160, 180, 200]);
});

test('an outage has no packets, and parts of packets add up', () => {
  // A packet and a half in each step
  expect(opportunities([0.09, 0, 0.09])).toEqual([133, 467, 600]);
});

test.each(TRACES)('%s is there, and keeps its capacity', async (name) => {
  const rates = await readRates(name);
  expect(rates.length).toBeGreaterThan(90);
  expect(meanRate(rates)).toBeGreaterThan(6);
  const lines = opportunities(rates);
  const carried = (lines.length * 1500 * 8) / 1e6 / (rates.length * 0.2);
  expect(carried).toBeCloseTo(meanRate(rates), 1);
  expect(lines).toEqual([...lines].sort((left, right) => left - right));
});
