import { INITIAL_WINDOW_PACKETS, PACKET_BYTES, type Network } from './network.js';

/**
 * Computes a lower bound of the page load time on these links. The request takes the fastest link. Each link carries
 * its full rate from when its first byte can arrive. Acknowledgements return over the fastest link. The window of a
 * path begins with the initial window, and doubles each round trip (RFC 9002 §7.3.1). Only the bytes of the resources
 * count, and nothing is lost. `rates` are in Mbit/s; the result is in milliseconds.
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

/**
 * Returns the maximum of bytes that arrive within `time` after the first can. Times are in milliseconds, and the rate
 * is in bytes per millisecond.
 */
function arrivedOnPath(time: number, roundTrip: number, rate: number): number {
  let total = 0;
  for (let window = INITIAL_WINDOW_PACKETS * PACKET_BYTES; time > 0 && window < rate * roundTrip; window *= 2) {
    total += Math.min(window, rate * time);
    time -= roundTrip;
  }
  return total + rate * Math.max(0, time);
}
