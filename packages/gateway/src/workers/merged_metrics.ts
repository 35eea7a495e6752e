import type { MachineLinkCounts, WorkerCounts } from '@sheaf/native';
import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import { processMetrics } from '../observability/process_metrics.js';
import { registryMetrics } from '../observability/registry_metrics.js';
import type { RegistryStatus } from '../observability/registry_report.js';
import { Exclusive } from '../values/exclusive.js';
import type { CountedMetric } from './messages.js';

export interface MergedMetricsOptions {
  /** Returns how often workers were replaced. */
  restarts(): number;
  /** Returns how often workers were ended because they did not answer. */
  watchdog(): number;
  /** Returns what each worker passed on and took. */
  datagrams(): WorkerCounts[];
  /** Returns what was passed on to other machines and taken from them, if that is configured. */
  forwarded(): MachineLinkCounts | undefined;
  /** Tells of the registry, where the configuration has one. */
  registry?: () => RegistryStatus;
}

/** Metrics of several threads, as one page */
export class MergedMetrics {
  /** Those of the main thread */
  readonly #own = new Registry();
  /** What threads had counted that are gone, so that no counter of the page goes back */
  #before: CountedMetric[] = [];
  /** One thread after the other, so that none overwrites what another one adds */
  readonly #retiring = new Exclusive();

  constructor({ restarts, watchdog, datagrams, forwarded, registry }: MergedMetricsOptions) {
    processMetrics(this.#own);
    datagramMetrics(this.#own, datagrams);
    forwardingMetrics(this.#own, forwarded);
    if (registry) registryMetrics(this.#own, registry);
    countMetric(this.#own, 'sheaf_worker_restarts_total', 'Workers that ended and were replaced.', restarts);
    countMetric(this.#own, 'sheaf_worker_watchdog_total', 'Workers that did not answer and were ended.', watchdog);
  }

  get contentType(): Registry['contentType'] {
    return this.#own.contentType;
  }

  /** Keeps the counts of a thread that has ended. Rejects when they do not fit to those of others. */
  retire(metrics: readonly CountedMetric[]): Promise<void> {
    const counts = metrics.filter(({ type }) => isCount(type));
    return this.#retiring.run(async () => {
      this.#before = await merged([this.#before, counts]).getMetricsAsJSON();
    });
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

function countMetric(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

function datagramMetrics(registry: Registry, datagrams: () => WorkerCounts[]): void {
  const counter = (name: string, help: string, read: (counts: WorkerCounts) => number): void => {
    new Counter({
      name: `sheaf_worker_datagrams_${name}_total`,
      help,
      labelNames: ['worker'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [worker, counts] of datagrams().entries()) this.inc({ worker }, read(counts));
      },
    });
  };
  counter('passed_on', 'UDP datagrams of other workers that a worker got and passed on.', ({ passedOn }) => passedOn);
  counter('taken', 'UDP datagrams that a worker took from others.', ({ taken }) => taken);
  counter('lost', 'UDP datagrams that a worker passed on, and the other one had no room for.', ({ lost }) => lost);
}

function forwardingMetrics(registry: Registry, forwarded: () => MachineLinkCounts | undefined): void {
  new Counter({
    name: 'sheaf_forwarded_datagrams_total',
    help: 'UDP datagrams that this machine passed on to others of the fleet, took from them, lost or refused.',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      const counts = forwarded();
      if (!counts) return;
      for (const [outcome, count] of Object.entries<number>({ ...counts })) this.inc({ outcome }, count);
    },
  });
}
