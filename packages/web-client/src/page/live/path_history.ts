import type { PathReport } from '../../protocol/index.js';

/** What a path did since the report before. */
export interface PathSample {
  readonly at: number;
  /** Sent and received, Mbit/s. */
  readonly rate: number;
  readonly roundTripMs: number;
  /** Packets. */
  readonly lost: number;
}

/** One path over the last minute. */
export interface PathSeries {
  /** Distinguishes it from the others that are shown; small, and free again when it is forgotten. */
  readonly place: number;
  /** As it was last reported. */
  readonly report: PathReport;
  /** No longer reported. */
  readonly gone: boolean;
  readonly samples: readonly PathSample[];
}

const KEPT_MS = 60_000;

interface Entry {
  place: number;
  report: PathReport;
  reportedAt: number;
  gone: boolean;
  samples: PathSample[];
}

/** Turns the counters of paths into rates, and remembers a minute of them. */
export class PathHistory {
  private readonly entries = new Map<string, Entry>();

  /** Takes the paths that there are at this moment, in milliseconds. */
  add(reports: readonly PathReport[], now: number): void {
    for (const entry of this.entries.values()) entry.gone = true;
    for (const report of reports) this.addOne(report, now);
    for (const [key, entry] of this.entries) {
      entry.samples = entry.samples.filter(({ at }) => now - at < KEPT_MS);
      if (entry.gone && entry.samples.length === 0) this.entries.delete(key);
    }
  }

  /** Every path of the last minute, in the order in which they appeared. */
  series(): readonly PathSeries[] {
    return [...this.entries.values()];
  }

  private addOne(report: PathReport, now: number): void {
    const key = `${report.id} ${report.local} ${report.remote}`;
    const entry = this.entries.get(key);
    if (entry === undefined) {
      this.entries.set(key, { place: this.freePlace(), report, reportedAt: now, gone: false, samples: [] });
      return;
    }
    const sample = sampleBetween(entry, report, now);
    if (sample) entry.samples.push(sample);
    Object.assign(entry, { report, reportedAt: now, gone: false });
  }

  private freePlace(): number {
    const taken = new Set([...this.entries.values()].map(({ place }) => place));
    let place = 0;
    while (taken.has(place)) place += 1;
    return place;
  }
}

/** Nothing where the counters began anew: that is the same path of another connection. */
function sampleBetween({ report: before, reportedAt }: Entry, report: PathReport, now: number): PathSample | undefined {
  const bytes = report.bytesSent + report.bytesReceived - before.bytesSent - before.bytesReceived;
  if (now <= reportedAt || bytes < 0) return undefined;
  return {
    at: now,
    rate: (bytes * 8) / 1_000 / (now - reportedAt),
    roundTripMs: report.roundTripMs,
    lost: Math.max(0, report.packetsLost - before.packetsLost),
  };
}
