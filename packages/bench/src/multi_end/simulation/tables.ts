import type { ResultTable } from '../../experiment.js';
import type { TransferCell } from './cells.js';
import type { SimulatedReport } from './simulated_backends.js';

export function simulatedTables({ cells, faults, missing, missed }: SimulatedReport): ResultTable[] {
  const notes = [...(missing > 0 ? [`${missing} experiments are missing; --resume does them`] : []), ...missed];
  return [
    {
      head: [
        'topology',
        'what',
        'requests',
        'bytes',
        'direct ms',
        'proxied ms',
        'ratio',
        'paper',
        'objects',
        'first byte ms',
      ],
      rows: cells.map((cell) => [
        cell.topology,
        cell.kind,
        String(cell.requests),
        String(cell.bytes),
        timeText(cell.direct_ms, cell.direct_spread_ms),
        timeText(cell.proxied_ms, cell.proxied_spread_ms),
        String(cell.ratio),
        cell.paper_ratio === undefined ? '' : `about ${cell.paper_ratio}`,
        String(cell.object_ratio),
        firstByteText(cell),
      ]),
      notes: [],
    },
    {
      head: [
        'fault',
        'keys',
        'key update',
        'runs',
        'requests',
        'failed',
        'bytes lost',
        'repeated',
        'resumed',
        'median stall ms',
        'longest ms',
        'bound ms',
      ],
      rows: faults.map((fault) => [
        fault.fault,
        fault.keys,
        fault.key_update ? 'yes' : 'no',
        ...[
          fault.runs,
          fault.requests,
          fault.requests_failed,
          fault.bytes_lost,
          fault.repeated,
          fault.resumed,
          fault.median_stall_ms,
          fault.longest_stall_ms,
          fault.bound_ms,
        ].map(String),
      ]),
      notes,
    },
  ];
}

const timeText = (median: number, [low, high]: [number, number]): string => `${median} (${low} to ${high})`;

function firstByteText({ first_byte_ms, round_trip_ms }: TransferCell): string {
  return first_byte_ms === undefined ? '' : `${first_byte_ms} (round trip ${round_trip_ms})`;
}
