const PAUSE_MS = 1000;

/** Renders progress of equal pieces of work: "##########.......... 119 of 238, about 4 min left". */
export function progressBar(done: number, total: number, elapsedSeconds: number): string {
  const left = done > 0 ? (elapsedSeconds * (total - done)) / done : 0;
  const words = left < 90 ? `${Math.round(left)} s` : `${Math.round(left / 60)} min`;
  return `${bar(done, total, { width: 20, rest: '.' })} ${done} of ${total}, about ${words} left`;
}

/** Shows the progress and the remaining time of a long experiment, at most once a second. */
export class ProgressBar {
  private done = 0;
  private lastShown = -Infinity;
  private readonly started: number;

  constructor(
    private readonly total: number,
    /** Name of the counted pieces */
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
    const left = ((now - this.started) / this.done) * (this.total - this.done);
    this.show(
      `[${bar(this.done, this.total, { width: 24, rest: '-' })}] ${this.done} of ${this.total} ${this.unit}, ${duration(left)} left (${what})`,
    );
  }
}

/** Draws the finished part as `#`. */
function bar(done: number, total: number, { width, rest }: { width: number; rest: string }): string {
  const filled = Math.round((width * done) / total);
  return '#'.repeat(filled) + rest.repeat(width - filled);
}

function duration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
