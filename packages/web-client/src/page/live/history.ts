/** Width of one column of the charts, in milliseconds */
export const BUCKET_MS = 250;
/** Number of columns: one minute */
export const BUCKETS = 240;

/** Bytes of one column */
export interface Bucket {
  sent: number;
  returned: number;
}

/** Bytes sent and returned over the last minute, the oldest column first */
export class ThroughputHistory {
  private readonly buckets: Bucket[] = [empty()];
  private current: number;

  constructor(start: number) {
    this.current = Math.floor(start / BUCKET_MS);
  }

  add(kind: keyof Bucket, bytes: number, now: number): void {
    this.advance(now);
    this.buckets.at(-1)![kind] += bytes;
  }

  /** Returns complete columns in Mbit/s, without the one that is still filling. */
  rates(now: number): Bucket[] {
    this.advance(now);
    return this.buckets.slice(0, -1).map(({ sent, returned }) => ({
      sent: megabitsPerSecond(sent),
      returned: megabitsPerSecond(returned),
    }));
  }

  private advance(now: number): void {
    const target = Math.floor(now / BUCKET_MS);
    const steps = Math.min(target - this.current, BUCKETS);
    for (let step = 0; step < steps; step += 1) {
      this.buckets.push(empty());
      if (this.buckets.length > BUCKETS) this.buckets.shift();
    }
    this.current = Math.max(this.current, target);
  }
}

function megabitsPerSecond(bytes: number): number {
  return (bytes * 8) / 1_000 / BUCKET_MS;
}

function empty(): Bucket {
  return { sent: 0, returned: 0 };
}
