import type { ResultTable } from '../../experiment.js';
import { marksTable, type Mark } from '../../measure/marks.js';
import type { Skipped } from '../../measure/measured_rounds.js';
import type { TunnelRow } from './rows.js';

/** Renders tables for people: all rows, then the marks. */
export const tunnelTables = (
  rows: readonly TunnelRow[],
  findings: readonly Mark[],
  skipped: readonly Skipped[],
): ResultTable[] => [
  {
    head: [
      'arm',
      'proxy',
      'client of the proxy',
      'at once',
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
      'Medians of the runs, with quartiles. Seconds are those of the processor.',
      ...skipped.map(({ what, reason }) => `skipped ${what}: ${reason}`),
    ],
  },
  marksTable(findings),
];

function spread(row: TunnelRow, name: keyof TunnelRow['quartiles']): string {
  return `${row[name]} (${row.quartiles[name].join(' to ')})`;
}
