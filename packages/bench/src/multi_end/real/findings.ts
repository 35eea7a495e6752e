import { round } from '../../measure/statistics.js';
import type { CpuCell, RealBackends } from './real_backends.js';

/** Maximum ratio of the primary's work with backends to its work as their proxy */
const MAX_PRIMARY_RATIO = 0.1;
/**
 * Minimum share of the bytes on paths to backends. The rest is handshakes, acknowledgements and credit over the
 * primary.
 */
const MIN_BACKENDS_SHARE = 0.95;

export interface RealFinding {
  claim: string;
  holds: boolean;
  why: string;
}

/** Judges whether backends achieve their purpose, in each direction and with each number of backends. */
export function judgeRealBackends({ cpu, uploads }: Pick<RealBackends, 'cpu' | 'uploads'>): RealFinding[] {
  return [...judge('downloads', cpu), ...judge('uploads', uploads)];
}

function judge(what: string, cells: readonly CpuCell[]): RealFinding[] {
  return cells
    .filter(({ delivery }) => delivery === 'direct')
    .flatMap((direct) => {
      const proxy = cells.find(({ delivery, backends }) => delivery === 'proxy' && backends === direct.backends);
      if (!proxy) return [];
      const subject = `${what}, ${direct.backends} ${direct.backends === 1 ? 'backend' : 'backends'}`;
      return [ofPrimary(subject, direct, proxy), ofSum(subject, direct, proxy), ofPath(subject, direct)];
    });
}

function ofPrimary(subject: string, direct: CpuCell, proxy: CpuCell): RealFinding {
  const ratio = direct.primary_cpu_s / proxy.primary_cpu_s;
  return {
    claim: `${subject}: the primary works at most ${percent(MAX_PRIMARY_RATIO)} of what it works as a proxy`,
    holds: ratio <= MAX_PRIMARY_RATIO,
    why: `${percent(ratio)}: ${direct.primary_cpu_s} s instead of ${proxy.primary_cpu_s} s, of which ${direct.connecting_cpu_s} s instead of ${proxy.connecting_cpu_s} s to connect, hand-overs included`,
  };
}

function ofSum(subject: string, direct: CpuCell, proxy: CpuCell): RealFinding {
  const [ours, theirs] = [direct, proxy].map((cell) => cell.primary_cpu_s + cell.backends_cpu_s) as [number, number];
  return {
    claim: `${subject}: primary and backends together work less than with proxying`,
    holds: ours < theirs,
    why: `${round(ours, 3)} s instead of ${round(theirs, 3)} s; the backends ${direct.backends_cpu_s} s instead of ${proxy.backends_cpu_s} s`,
  };
}

function ofPath(subject: string, { backends_share }: CpuCell): RealFinding {
  return {
    claim: `${subject}: at least ${percent(MIN_BACKENDS_SHARE)} of the bytes go between clients and backends`,
    holds: backends_share >= MIN_BACKENDS_SHARE,
    why: percent(backends_share),
  };
}

export function percent(ratio: number): string {
  return `${round(ratio * 100, 3)} %`;
}
