import type { ResultTable } from '../experiment.js';
import type { MeasuredBalancers } from './balancer_outcome.js';
import type { Plan } from './balancers.js';
import type { ReturnFinding } from './findings.js';

/** Renders tables for people: all cells, what the gateway did for each request, then the findings. */
export const balancerTables = (measured: MeasuredBalancers, findings: readonly ReturnFinding[]): ResultTable[] => [
  cellTable(measured),
  gatewayTable(measured),
  {
    head: ['finding', 'holds', 'why'],
    rows: findings.map(({ claim, holds, why }) => [claim, holds ? 'holds' : 'does not hold', why]),
    notes: [],
  },
];

const PLACE = ['bytes', 'ack of', 'quota'];

const cellTable = ({ balancer, skipped }: MeasuredBalancers): ResultTable => ({
  head: ['delivery', ...PLACE, 'saturated', 'requests/s', 'Gbit/s', 'balancer s', 'Gbit per s', 'ratio'],
  rows: balancer.map((cell) => [
    ...placeOf(cell),
    cell.saturated ? 'yes' : 'no',
    String(cell.requests_per_s),
    String(cell.goodput_gbps),
    String(cell.balancer_cpu_s),
    String(cell.gbit_per_cpu_s),
    String(cell.ratio),
  ]),
  notes: [
    "Medians of the runs. Gbit per s: goodput for each second of the balancer's processor. Ratio: to proxying by the same gateway.",
    'Quota: share of a processor that the balancer might use. Saturated: it used all of it.',
    ...skipped.map(({ what, reason }) => `${what}: ${reason}`),
  ],
});

const gatewayTable = ({ gateway }: MeasuredBalancers): ResultTable => ({
  head: ['gateway', ...PLACE, 'datagrams received', 'datagrams sent', 'bytes sent', 'calls of JavaScript', 'fell back'],
  rows: gateway.map((cell) => [
    ...placeOf(cell),
    String(cell.datagrams_received),
    String(cell.datagrams_sent),
    String(cell.bytes_sent),
    String(cell.javascript_calls),
    [cell.fell_back, ...cell.reasons].join(' '),
  ]),
  notes: [
    'For each request, between clients and gateway; and how many responses of all runs fell back to proxying, with the reasons.',
  ],
});

const placeOf = ({ delivery, bytes, client_ack_every, quota }: Plan): string[] => [
  delivery,
  String(bytes),
  String(client_ack_every),
  String(quota),
];
