import type { ResultTable } from '../experiment.js';
import type { MeasuredBalancers } from './balancer_outcome.js';
import type { ReturnFinding } from './findings.js';

/** Renders tables for people: all cells, what the gateway did for each request, then the findings. */
export function balancerTables(
  { balancer, gateway, skipped }: MeasuredBalancers,
  findings: readonly ReturnFinding[],
): ResultTable[] {
  return [
    {
      head: ['delivery', 'bytes', 'ack of', 'requests/s', 'Gbit/s', 'balancer s', 'Gbit per s', 'ratio'],
      rows: balancer.map((cell) => [
        cell.delivery,
        String(cell.bytes),
        String(cell.client_ack_every),
        String(cell.requests_per_s),
        String(cell.goodput_gbps),
        String(cell.balancer_cpu_s),
        String(cell.gbit_per_cpu_s),
        String(cell.ratio),
      ]),
      notes: [
        "Medians of the runs. Gbit per s: goodput for each second of the balancer's processor. Ratio: to proxying by the same gateway.",
        ...skipped.map(({ delivery, reason }) => `${delivery}: ${reason}`),
      ],
    },
    {
      head: [
        'gateway',
        'bytes',
        'ack of',
        'datagrams received',
        'datagrams sent',
        'bytes sent',
        'calls of JavaScript',
        'fell back',
      ],
      rows: gateway.map((cell) => [
        cell.delivery,
        String(cell.bytes),
        String(cell.client_ack_every),
        String(cell.datagrams_received),
        String(cell.datagrams_sent),
        String(cell.bytes_sent),
        String(cell.javascript_calls),
        [cell.fell_back, ...cell.reasons].join(' '),
      ]),
      notes: [
        'For each request, between clients and gateway; and how many responses of all runs fell back to proxying, with the reasons.',
      ],
    },
    {
      head: ['finding', 'holds', 'why'],
      rows: findings.map(({ claim, holds, why }) => [claim, holds ? 'holds' : 'does not hold', why]),
      notes: [],
    },
  ];
}
