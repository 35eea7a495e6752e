import { Counter, Gauge, type Registry } from 'prom-client';
import type { RegistryStatus } from './registry_report.js';

/** Registers the metrics of the registry by which the nodes of a fleet find each other. */
export function registryMetrics(registry: Registry, status: () => RegistryStatus): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: (status: RegistryStatus) => number): void => {
    new Gauge({
      name: `sheaf_registry_${name}`,
      help,
      registers,
      collect() {
        this.set(read(status()));
      },
    });
  };
  const total = (name: string, help: string, read: (status: RegistryStatus) => number): void => {
    new Counter({
      name: `sheaf_registry_${name}_total`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read(status()));
      },
    });
  };
  gauge('connected', 'Whether the registry is connected, 0 or 1.', ({ connected }) => Number(connected));
  gauge('age_seconds', 'Time since the registry told something.', ({ ageSeconds }) => ageSeconds ?? Number.NaN);
  gauge('conflicts', 'Faults of the fleet that an operator has to put right.', ({ conflicts }) => conflicts.length);
  total('failed_writes', 'Writes that the registry did not take.', ({ failedWrites }) => failedWrites);
  total('dead_watches', 'Watches that went silent, and were opened anew.', ({ deadWatches }) => deadWatches);
  new Counter({
    name: 'sheaf_registry_refused_entries_total',
    help: 'Entries that were not believed or not read.',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(status().refused)) this.inc({ reason }, count);
    },
  });
  new Gauge({
    name: 'sheaf_fleet_nodes',
    help: 'Nodes of the fleet that are not gone, with this one.',
    labelNames: ['state'],
    registers,
    collect() {
      this.reset();
      for (const state of ['alive', 'suspect'])
        this.set({ state }, status().nodes.filter((node) => node.state === state).length);
    },
  });
}
