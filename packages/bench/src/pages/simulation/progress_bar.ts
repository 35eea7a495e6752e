const WIDTH = 24;
const PAUSE_MS = 1000;

/** Tells how far a long experiment has come and how long it will take, at most once a second. */
export class ProgressBar {
  private done = 0;
  private lastShown = -Infinity;
  private readonly started: number;

  constructor(
    private readonly total: number,
    /** What is counted. */
    private readonly unit: string,
    private readonly show: (line: string) => void,
    private readonly clock: () => number = () => performance.now(),
  ) {
    this.started = clock();
  }

  step(what: string): void {
    this.done += 1;
    const now = this.clock();
    if (this.done < this.total && now - this.lastShown < PAUSE_MS) return;
    this.lastShown = now;
    const filled = Math.round((WIDTH * this.done) / this.total);
    const left = ((now - this.started) / this.done) * (this.total - this.done);
    this.show(`[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${this.done} of ${this.total} ${this.unit}, ${duration(left)} left (${what})`);
  }
}

function duration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
