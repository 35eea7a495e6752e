import type { DemoTree, EdgeReport } from './demo_tree.js';

const KEPT_MS = 60_000;
/** Rates are those of such a time, so that they do not follow the bursts of frames. */
const RATE_MS = 1_000;

/** Packets of the channel in a second, by what brought them */
export interface Rates {
  /** Time of the report, in milliseconds */
  readonly at: number;
  readonly group: number;
  readonly repairs: number;
  readonly copies: number;
  readonly cut: boolean;
}

/** Packets of the channel between two reports */
export interface Packets {
  readonly group: number;
  readonly repairs: number;
  readonly copies: number;
  readonly all: number;
  /** Missing at some time */
  readonly lost: number;
  /** Missing for good */
  readonly expired: number;
}

interface Entry extends EdgeReport {
  readonly at: number;
  readonly cut: boolean;
}

/** The edge's counts over the last minute */
export class TreeHistory {
  private entries: Entry[] = [];
  private first: Entry | undefined;

  /** Adds a report at `now`, in milliseconds. Counts that begin anew are those of another process. */
  add({ edge, tree }: DemoTree, now: number): void {
    if (!edge) return;
    const entry = { ...edge, at: now, cut: tree.cut };
    const before = this.entries.at(-1);
    if (before && edge.fromGroup + edge.fromUnicast < before.fromGroup + before.fromUnicast) this.entries = [];
    if (this.entries.length === 0) this.first = entry;
    // One more than a minute, from which the first rate counts
    this.entries = [...this.entries.filter(({ at }) => now - at < KEPT_MS + RATE_MS), entry];
  }

  /** Packets of the last milliseconds, or since the first report */
  since(milliseconds = Infinity): Packets {
    const last = this.entries.at(-1);
    if (!last || !this.first) return { group: 0, repairs: 0, copies: 0, all: 0, lost: 0, expired: 0 };
    const from = this.entries.findLast(({ at }) => last.at - at >= milliseconds);
    return difference(from ?? (milliseconds === Infinity ? this.first : this.entries[0]!), last);
  }

  rates(): Rates[] {
    return this.entries.flatMap((entry, index) => {
      const from = this.entries.slice(0, index).findLast(({ at }) => entry.at - at >= RATE_MS);
      if (!from) return [];
      const seconds = (entry.at - from.at) / 1_000;
      const { group, repairs, copies } = difference(from, entry);
      return [
        {
          ...{ at: entry.at, cut: entry.cut },
          ...{ group: group / seconds, repairs: repairs / seconds, copies: copies / seconds },
        },
      ];
    });
  }

  /** Times between which the tree was cut, in milliseconds, as far as a minute back */
  cuts(): { from: number; to: number }[] {
    const cuts: { from: number; to: number }[] = [];
    let open: { from: number; to: number } | undefined;
    for (const { at, cut } of this.entries) {
      if (open) open.to = at;
      if (cut && !open) cuts.push((open = { from: at, to: at }));
      if (!cut) open = undefined;
    }
    return cuts;
  }
}

function difference(from: Entry, to: Entry): Packets {
  const group = to.fromGroup - from.fromGroup;
  const repairs = to.recovered - from.recovered;
  const copies = to.fromUnicast - from.fromUnicast;
  return {
    ...{ group, repairs, copies, all: group + repairs + copies },
    ...{ lost: to.lost - from.lost, expired: to.expired - from.expired },
  };
}
