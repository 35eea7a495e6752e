import { INITIAL_WINDOW_PACKETS, PACKET_BYTES, type Network } from './network.js';

/**
 * No page load on these links is shorter: the request takes the quickest way there, each link carries
 * its rate from when the first byte can be there, acknowledgements take the quickest way back, and the
 * window of a path begins with the initial one and doubles a round trip (RFC 9002 §7.3.1). Only the
 * bytes of the resources count, and nothing is lost. `rates` in Mbit/s; returns milliseconds.
 */
export function lowerBound(bytes: number, network: Network, rates: readonly number[]): number {
  const shortest = network.links.map(({ delay_ms, jitter_ms }) => delay_ms - jitter_ms);
  const quickest = Math.min(...shortest);
  const arrivals = shortest.map((delay, index) => ({ roundTrip: delay + quickest, rate: (rates[index] ?? 0) * 125 }));
  const arrived = (time: number): number =>
    arrivals.reduce((sum, { roundTrip, rate }) => sum + arrivedOnPath(time - roundTrip, roundTrip, rate), 0);
  let below = 0;
  let above = Math.max(...arrivals.map(({ roundTrip }) => roundTrip));
  while (arrived(above) < bytes) above *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (below + above) / 2;
    if (arrived(middle) < bytes) below = middle;
    else above = middle;
  }
  return above;
}

/** Bytes at most, a time after the first can be there. Times in milliseconds, the rate in bytes each. */
function arrivedOnPath(time: number, roundTrip: number, rate: number): number {
  let total = 0;
  for (let window = INITIAL_WINDOW_PACKETS * PACKET_BYTES; time > 0 && window < rate * roundTrip; window *= 2) {
    total += Math.min(window, rate * time);
    time -= roundTrip;
  }
  return total + rate * Math.max(0, time);
}
