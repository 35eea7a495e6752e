import { round } from '../measure/statistics.js';
import { isSameLoad, type BalancerCell, type GatewayCell } from './cells.js';

/** Least ratios of goodput for each second of the processor */
const LEAST = { best: 15, middle: 12, caddy: 10, any: 0.9 };
/** The size of a middle response, and the rarest acknowledgements of a usual client */
const MIDDLE = { bytes: 500_000, ackEvery: 10 };

export interface ReturnFinding {
  claim: string;
  holds: boolean;
  why: string;
}

/** Judges what direct return must achieve. A claim about what was not measured does not hold. */
export function judgeBalancers(cells: readonly BalancerCell[], gateway: readonly GatewayCell[]): ReturnFinding[] {
  // A balancer is judged by what it does when it has more to do than it can.
  const least = Math.min(...cells.map(({ quota }) => quota));
  const returned = cells.filter(({ delivery, quota }) => delivery === 'return' && quota === least);
  const middle = returned.filter(
    ({ bytes, client_ack_every }) => bytes === MIDDLE.bytes && client_ack_every <= MIDDLE.ackEvery,
  );
  const toCaddy = returned.flatMap((cell) => {
    const caddy = cells.find((other) => other.delivery === 'caddy' && isSameLoad(other, cell));
    return caddy ? { ...cell, ratio: cell.gbit_per_cpu_s / caddy.gbit_per_cpu_s } : [];
  });
  return [
    atLeast(LEAST.best, 'proxying at the best size', largest(returned)),
    atLeast(LEAST.middle, `proxying for ${MIDDLE.bytes / 1000} KB with frequent acknowledgements`, smallest(middle)),
    atLeast(LEAST.caddy, 'Caddy at the best size', largest(toCaddy)),
    atLeast(LEAST.any, 'proxying at every size', smallest(cells.filter(({ delivery }) => delivery === 'return'))),
    nothingFellBack(gateway),
  ];
}

function atLeast(least: number, what: string, cell: BalancerCell | undefined): ReturnFinding {
  return {
    claim: `goodput per second of the processor is at least ${least} times that of ${what}`,
    holds: cell !== undefined && cell.ratio >= least,
    why: cell ? `${round(cell.ratio, 3)} times with ${loadOf(cell)}` : 'not measured',
  };
}

function nothingFellBack(gateway: readonly GatewayCell[]): ReturnFinding {
  const returned = gateway.filter(({ delivery }) => delivery === 'return');
  const fellBack = returned.filter(({ fell_back }) => fell_back > 0);
  return {
    claim: 'backends send all responses that they may send',
    holds: returned.length > 0 && fellBack.length === 0,
    why:
      returned.length === 0
        ? 'not measured'
        : fellBack.length === 0
          ? 'none fell back'
          : fellBack.map((cell) => `${cell.fell_back} with ${loadOf(cell)} (${cell.reasons.join(', ')})`).join('; '),
  };
}

const loadOf = ({
  bytes,
  client_ack_every,
  quota,
}: Pick<BalancerCell, 'bytes' | 'client_ack_every' | 'quota'>): string =>
  `${bytes} bytes, an acknowledgement of every ${client_ack_every} packets and a quota of ${quota}`;

const largest = (cells: readonly BalancerCell[]): BalancerCell | undefined => sorted(cells).at(-1);
const smallest = (cells: readonly BalancerCell[]): BalancerCell | undefined => sorted(cells)[0];
const sorted = (cells: readonly BalancerCell[]): BalancerCell[] => [...cells].sort((a, b) => a.ratio - b.ratio);
