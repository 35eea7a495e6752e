import { performance, type EventLoopUtilization } from 'node:perf_hooks';

const periodMs = 1_000;

/** Measures the share of the time in which this process was busy, over the latest second. */
export class LoadMeter {
  #last: EventLoopUtilization = performance.eventLoopUtilization();
  #load = 0;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#measure(), periodMs).unref();
  }

  /** Busy share of the time, from 0 to 1 */
  get load(): number {
    return this.#load;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #measure(): void {
    const now = performance.eventLoopUtilization();
    this.#load = performance.eventLoopUtilization(now, this.#last).utilization;
    this.#last = now;
  }
}
