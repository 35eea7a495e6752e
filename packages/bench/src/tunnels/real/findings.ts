import type { Mark } from '../../measure/marks.js';
import { round } from '../../measure/statistics.js';
import type { TunnelRow } from './rows.js';

/** Least ratio of Sheaf's proxy to masque-go's: of its goodput, and of the goodput for each second of its processor time */
const LEAST = 3;

/**
 * Judges Sheaf's proxy beside masque-go's, with the same client of both. A proxy is judged by what it does when it has more to do than
 * it can: with the least quota.
 */
export function judgeTunnels(rows: readonly TunnelRow[]): Mark[] {
  const least = Math.min(...rows.map(({ quota }) => quota));
  return rows
    .filter(({ proxy, quota }) => proxy === 'sheaf' && quota === least)
    .flatMap((own) => {
      const foreign = rows.find(
        ({ proxy, carrier, clients, quota }) =>
          proxy === 'masque-go' && carrier === own.carrier && clients === own.clients && quota === own.quota,
      );
      if (!foreign) return [];
      const place = `${own.clients} at once, by ${own.carrier}`;
      return [
        mark(`${place}: goodput to that of masque-go`, own.goodput_mbps, foreign.goodput_mbps),
        mark(
          `${place}: processor time for each GB of masque-go to that of Sheaf`,
          foreign.proxy_cpu_s_per_gb,
          own.proxy_cpu_s_per_gb,
        ),
      ];
    });
}

function mark(claim: string, larger: number, smaller: number): Mark {
  const measured = round(larger / smaller);
  return { claim, required: LEAST, measured, holds: measured >= LEAST, why: `${larger} beside ${smaller}` };
}
