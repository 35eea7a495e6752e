import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { Counter, Gauge, type Registry } from 'prom-client';

/** Registers how busy a thread is that serves clients beside others. */
export function workerMetrics(registry: Registry, worker: number, connections: () => number): void {
  const common = { labelNames: ['worker'], registers: [registry] };
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      ...common,
      name: `sheaf_worker_${name}`,
      help,
      collect() {
        this.set({ worker }, read());
      },
    });
  };
  gauge('connections_open', 'QUIC connections of a worker.', connections);
  gauge(
    'heap_bytes',
    'Bytes of the JavaScript heap of a worker that are in use.',
    () => getHeapStatistics().used_heap_size,
  );
  new Counter({
    ...common,
    name: 'sheaf_worker_busy_seconds_total',
    help: 'Time in which the event loop of a worker did not wait.',
    collect() {
      this.reset();
      this.inc({ worker }, performance.eventLoopUtilization().active / 1_000);
    },
  });
}
