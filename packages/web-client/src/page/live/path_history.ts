import type { PathReport } from '../../protocol/index.js';

/** Activity of a path since the report before */
export interface PathSample {
  readonly at: number;
  /** Rate sent and received together, in Mbit/s */
  readonly rate: number;
  readonly roundTripMs: number;
  /** Lost packets */
  readonly lost: number;
}

/** One path over the last minute */
export interface PathSeries {
  /** Number that distinguishes the path from the others shown: small, and free again when the path is forgotten */
  readonly place: number;
  /** Latest report */
  readonly report: PathReport;
  /** Whether the path is no longer reported */
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

/** Turns the counters of paths into rates, and keeps them for a minute. */
export class PathHistory {
  private readonly entries = new Map<string, Entry>();

  /** Takes the reports of the paths that exist at `now`, in milliseconds. */
  add(reports: readonly PathReport[], now: number): void {
    for (const entry of this.entries.values()) entry.gone = true;
    for (const report of reports) this.addOne(report, now);
    for (const [key, entry] of this.entries) {
      entry.samples = entry.samples.filter(({ at }) => now - at < KEPT_MS);
      if (entry.gone && entry.samples.length === 0) this.entries.delete(key);
    }
  }

  /** Returns every path of the last minute, in order of appearance. */
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

/**
 * Returns the sample between two reports; undefined when the counters began anew, as for the same path of another
 * connection.
 */
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
