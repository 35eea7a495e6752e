import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { strayErrorCounts } from '../errors/stray_errors.js';
import { version } from '../values/version.js';
import { logLinesDropped } from './log_stream.js';
import type { TunnelNodeStatus } from './status.js';
import { tcpTunnelMetrics, tunnelMetrics } from './tunnel_metrics.js';

/** Registers what a process says about itself, whatever its nodes do. */
export function processMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'sheaf_build_info',
    help: '1, with the version of Sheaf as a label.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  threadMetrics(registry);
}

/** Registers what each thread of a process counts for itself. */
export function threadMetrics(registry: Registry): void {
  const registers = [registry];
  new Counter({
    name: 'sheaf_log_lines_dropped_total',
    help: 'Lines of logs that could not be written, of this process.',
    registers,
    collect() {
      this.reset();
      this.inc(logLinesDropped());
    },
  });
  new Counter({
    name: 'sheaf_stray_errors_total',
    help: 'Errors of this process that nobody caught and that belong to no session.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const [kind, count] of Object.entries(strayErrorCounts())) this.inc({ kind }, count);
    },
  });
}

/** Returns the metrics of a node that uses the tunnels of a gateway. */
export function createTunnelNodeMetrics(status: () => TunnelNodeStatus): Registry {
  const registry = new Registry();
  processMetrics(registry);
  tunnelMetrics(registry, () => status().tunnels);
  tcpTunnelMetrics(registry, () => status().tcpTunnels);
  return registry;
}
