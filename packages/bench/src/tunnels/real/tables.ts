import type { ResultTable } from '../../experiment.js';
import { marksTable, type Mark } from '../../measure/marks.js';
import type { Skipped } from '../../measure/measured_rounds.js';
import type { FloodRow } from './flood.js';
import type { IdleTunnels } from './idle_tunnels.js';
import type { TunnelRow } from './rows.js';

/** Renders tables for people: all rows, then the marks. */
export const tunnelTables = (
  { rows, flood, idle }: { rows: readonly TunnelRow[]; flood: readonly FloodRow[]; idle: IdleTunnels | undefined },
  findings: readonly Mark[],
  skipped: readonly Skipped[],
): ResultTable[] =>
  [downloadsTable(rows, skipped), floodTable(flood), idleTable(idle), marksTable(findings)].filter(
    (table) => table.rows.length + table.notes.length > 0,
  );

const downloadsTable = (rows: readonly TunnelRow[], skipped: readonly Skipped[]): ResultTable => ({
  head: [
    'arm',
    'proxy',
    'client of the proxy',
    'at once',
    'quota',
    'busy',
    'goodput Mbit/s',
    'proxy s/GB',
    'its client s/GB',
    'server s/GB',
    'downloads s/GB',
    'proxy MiB',
    'runs',
    'failed',
  ],
  rows: rows.map((row) => [
    row.arm,
    row.proxy,
    row.carrier,
    String(row.clients),
    String(row.quota),
    String(row.busy),
    spread(row, 'goodput_mbps'),
    spread(row, 'proxy_cpu_s_per_gb'),
    String(row.carrier_cpu_s_per_gb),
    String(row.server_cpu_s_per_gb),
    String(row.client_cpu_s_per_gb),
    String(row.proxy_rss_mib),
    String(row.runs),
    String(row.failed),
  ]),
  notes: [
    ...(rows.length > 0 ? ['Medians of the runs, with quartiles. Seconds are those of the processor.'] : []),
    ...skipped.map(({ what, reason }) => `skipped ${what}: ${reason}`),
  ],
});

const floodTable = (flood: readonly FloodRow[]): ResultTable => ({
  head: ['download', 'flood of', 'goodput Mbit/s', 'runs'],
  rows: flood.map(({ load, flooded, goodput_mbps, quartiles, runs }) => [
    load,
    flooded === 'none' ? 'no proxy' : `the ${flooded} proxy`,
    `${goodput_mbps} (${quartiles.join(' to ')})`,
    String(runs),
  ]),
  notes: [],
});

const idleTable = (idle: IdleTunnels | undefined): ResultTable => ({
  head: ['idle tunnels', 'connections', 'MiB before', 'MiB with them', 'bytes each'],
  rows: idle
    ? [[idle.tunnels, idle.connections, idle.before_mib, idle.after_mib, idle.bytes_per_tunnel].map(String)]
    : [],
  notes: [],
});

function spread(row: TunnelRow, name: keyof TunnelRow['quartiles']): string {
  return `${row[name]} (${row.quartiles[name].join(' to ')})`;
}
