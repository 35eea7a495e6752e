import type { TunnelReport } from '../../protocol/index.js';

/** Activity of all tunnels since the report before */
export interface TunnelSample {
  readonly at: number;
  /** Rates in Mbit/s */
  readonly toTarget: number;
  readonly toClient: number;
  /** KB that wait */
  readonly waiting: number;
  /** Packets that were dropped */
  readonly lost: number;
}

const KEPT_MS = 60_000;

/** Turns the counters of tunnels into rates, and keeps them for a minute. */
export class TunnelHistory {
  private before: { report: TunnelReport; at: number } | undefined;
  private kept: TunnelSample[] = [];

  /** Takes the report of the time `now`, in milliseconds. */
  add(report: TunnelReport, now: number): void {
    const sample = this.before && sampleBetween(this.before.report, report, now - this.before.at);
    if (sample) this.kept.push({ ...sample, at: now });
    this.kept = this.kept.filter(({ at }) => now - at < KEPT_MS);
    this.before = { report, at: now };
  }

  get samples(): readonly TunnelSample[] {
    return this.kept;
  }
}

/** Returns nothing when the counters began anew, as after a restart of the node. */
function sampleBetween(before: TunnelReport, after: TunnelReport, ms: number): Omit<TunnelSample, 'at'> | undefined {
  const toTarget = after.bytesToTarget - before.bytesToTarget;
  const toClient = after.bytesToClient - before.bytesToClient;
  if (ms <= 0 || toTarget < 0 || toClient < 0) return undefined;
  const rate = (bytes: number): number => (bytes * 8) / 1_000 / ms;
  const lost = total(after.drops) - total(before.drops);
  return { toTarget: rate(toTarget), toClient: rate(toClient), waiting: after.waitingBytes / 1_024, lost };
}

/** Returns the sum of counts. */
export function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
