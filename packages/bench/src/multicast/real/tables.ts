import type { ResultTable } from '../../experiment.js';
import { marksTable, type Mark } from '../../measure/marks.js';
import type { Skipped } from '../../measure/measured_rounds.js';
import type { MulticastRow } from './rows.js';

/** Renders tables for people: all rows, then the findings. */
export const multicastTables = (
  rows: readonly MulticastRow[],
  findings: readonly Mark[],
  skipped: readonly Skipped[],
): ResultTable[] => [
  {
    head: [
      'sender',
      'authentication',
      'receivers',
      'loss %',
      'rate Mbit/s',
      'goodput Mbit/s',
      'source s',
      'receiver s',
      'Gbit per s',
      'to unicast',
      'runs',
      'failed',
    ],
    rows: rows.map((row) => [
      row.sender,
      row.authentication,
      String(row.receivers),
      String(row.loss_percent),
      row.rate_mbps === null ? '' : String(row.rate_mbps),
      spread(row, 'goodput_mbps'),
      spread(row, 'source_cpu_s'),
      spread(row, 'receiver_cpu_s'),
      String(row.gbit_per_cpu_s),
      row.to_unicast ? `${row.to_unicast.goodput} / ${row.to_unicast.gbit_per_cpu_s}` : '',
      String(row.runs),
      String(row.failed),
    ]),
    notes: [
      'Medians of the runs with quartiles. Seconds are those of the processor: of the source, and of one receiver on average.',
      'Gbit per s: what all receivers got, for each second of source and receivers. To unicast: goodput / Gbit per s.',
      ...skipped.map(({ what, reason }) => `skipped ${what}: ${reason}`),
    ],
  },
  marksTable(findings),
];

function spread(row: MulticastRow, name: keyof MulticastRow['quartiles']): string {
  return `${row[name]} (${row.quartiles[name].join(' to ')})`;
}
