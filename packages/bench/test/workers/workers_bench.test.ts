import { expect, it } from 'vitest';
import { measureForwarding } from '../../src/workers/forwarding.js';
import { placementOf } from '../../src/workers/placement.js';

it('divides connections among any number of workers nearly as evenly as chance does', () => {
  for (const workers of [1, 2, 5, 48, 64]) {
    const placement = placementOf(workers, 10_000);
    expect(placement).toEqual(placementOf(workers, 10_000));
    expect(placement.busiest).toBeGreaterThanOrEqual(1);
    // 256 values are 5 or 6 for each of 48 workers.
    expect(placement.busiest).toBeLessThan(1.5);
  }
});

it('compares uploads to the worker that has the connection with those through another one', async () => {
  const uploads = await measureForwarding({ runs: 1, bytes: 4_000_000 }, () => undefined);
  const [direct, forwarded] = uploads;
  expect(direct).toMatchObject({ forwarded: false, datagrams_per_second: 0 });
  expect(forwarded?.forwarded).toBe(true);
  expect(forwarded?.datagrams_per_second).toBeGreaterThan(0);
});
