import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import { processMetrics } from '../observability/process_metrics.js';
import type { CountedMetric } from './messages.js';

/** Metrics of several threads, as one page */
export class MergedMetrics {
  /** Those of the main thread */
  readonly #own = new Registry();
  /** What threads had counted that are gone, so that no counter of the page goes back */
  #before: CountedMetric[] = [];

  /** `restarts`: how often workers were replaced */
  constructor(restarts: () => number) {
    processMetrics(this.#own);
    new Counter({
      name: 'sheaf_worker_restarts_total',
      help: 'Workers that ended and were replaced.',
      registers: [this.#own],
      collect() {
        this.reset();
        this.inc(restarts());
      },
    });
  }

  get contentType(): Registry['contentType'] {
    return this.#own.contentType;
  }

  /** Keeps the counts of a thread that has ended. */
  async retire(metrics: readonly CountedMetric[]): Promise<void> {
    const counts = metrics.filter(({ type }) => isCount(type));
    this.#before = await merged([this.#before, counts]).getMetricsAsJSON();
  }

  /** Returns the page: what the main thread has, and what `threads` have counted. */
  async page(threads: readonly CountedMetric[][]): Promise<string> {
    return merged([await this.#own.getMetricsAsJSON(), ...threads, this.#before]).metrics();
  }
}

/** prom-client declares these types as numbers, and gives names. */
const isCount = (type: unknown): boolean => type === 'counter' || type === 'histogram';

function merged(all: readonly (readonly CountedMetric[])[]): Registry {
  return AggregatorRegistry.aggregate([...all]);
}
