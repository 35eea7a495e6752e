import type { Server } from './tally.js';

interface Sample {
  readonly bytes: number;
  readonly at: number;
  /** Mbit/s since the sample before */
  readonly rate: number;
}

/** Rates of what this page itself has counted */
export class Rates {
  private readonly latest = new Map<Server, Sample>();

  /** `bytes`: all so far; `now` in milliseconds. */
  add(server: Server, bytes: number, now: number): void {
    const before = this.latest.get(server);
    const rate = before && now > before.at ? (8 * (bytes - before.bytes)) / (1_000 * (now - before.at)) : 0;
    this.latest.set(server, { bytes, at: now, rate });
  }

  of(server: Server): number {
    return this.latest.get(server)?.rate ?? 0;
  }
}
