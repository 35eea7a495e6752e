import type { RandomSource } from './trace_context.js';

/** A call of the system's randomness costs as much for these octets as for a few. */
const poolOctets = 4_096;

/** Returns a source whose octets `fill` made many at a time. Each octet is handed out once. */
export function pooledRandom(fill: (pool: Uint8Array) => unknown): RandomSource {
  const pool = new Uint8Array(poolOctets);
  let used = poolOctets;
  return (octets) => {
    if (used + octets > poolOctets) {
      fill(pool);
      used = 0;
    }
    used += octets;
    return pool.subarray(used - octets, used);
  };
}
