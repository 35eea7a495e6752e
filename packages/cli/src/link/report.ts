import type { LinkRelayStats, LinkStats } from '@sheaf/native';
import { renderTable } from '../table.js';

const columns: [string, (stats: LinkStats) => number][] = [
  ['sent', (stats) => stats.sent],
  ['delivered', (stats) => stats.delivered],
  ['bytes', (stats) => stats.bytesDelivered],
  ['lost', (stats) => stats.lost],
  ['queue full', (stats) => stats.queueFull],
  ['codel', (stats) => stats.queueManaged],
  ['down', (stats) => stats.down],
  ['duplicated', (stats) => stats.duplicated],
  ['marked', (stats) => stats.marked],
];

/** Renders the counters of a relay for people. */
export function renderLinkStats(stats: LinkRelayStats): string {
  const row = (name: string, direction: LinkStats): (string | number)[] => [
    name,
    ...columns.map(([, value]) => value(direction)),
  ];
  const table = renderTable(
    ['', ...columns.map(([name]) => name)],
    [row('there', stats.there), row('back', stats.back)],
  );
  const faults = [
    stats.refused > 0 ? `${stats.refused} datagrams of clients beyond the 64 that a relay serves` : '',
    stats.overflow > 0 ? `${stats.overflow} datagrams beyond the memory of the link` : '',
    stats.unsent > 0 ? `${stats.unsent} datagrams that the system did not take` : '',
  ].filter((text) => text !== '');
  return [table, ...faults].join('\n');
}
