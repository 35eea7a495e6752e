import type { Mark } from '../../measure/marks.js';
import { round } from '../../measure/statistics.js';
import type { TunnelRow } from './rows.js';

/** Least ratio of Sheaf's proxy to masque-go's: of its goodput, and of the goodput for each second of its processor time */
const LEAST = 3;

/**
 * Judges Sheaf's proxy beside masque-go's. Processor time is compared with either client of both proxies. The goodput is that with
 * the client by which the proxy is fastest: a slow one would decide instead of the proxy.
 */
export function judgeTunnels(rows: readonly TunnelRow[]): Mark[] {
  return [...new Set(rows.map(({ clients }) => clients))].flatMap((clients) => {
    const at = rows.filter((row) => row.clients === clients);
    const own = at.filter(({ proxy }) => proxy === 'sheaf');
    const foreign = at.filter(({ proxy }) => proxy === 'masque-go');
    if (own.length === 0 || foreign.length === 0) return [];
    const best = (of: readonly TunnelRow[]): number => Math.max(...of.map(({ goodput_mbps }) => goodput_mbps));
    return [
      mark(`${clients} at once: goodput to that of masque-go, each by its faster client`, best(own), best(foreign)),
      ...own.flatMap((row) => {
        const other = foreign.find(({ carrier }) => carrier === row.carrier);
        const claim = `${clients} at once, by ${row.carrier}: processor time for each GB of masque-go to that of Sheaf`;
        return other ? [mark(claim, other.proxy_cpu_s_per_gb, row.proxy_cpu_s_per_gb)] : [];
      }),
    ];
  });
}

function mark(claim: string, larger: number, smaller: number): Mark {
  const measured = round(larger / smaller);
  return { claim, required: LEAST, measured, holds: measured >= LEAST, why: `${larger} beside ${smaller}` };
}
