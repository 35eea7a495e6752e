import type { TunnelReport } from '../../protocol/index.js';
import { find, write } from '../elements.js';
import { formatBytes, formatNumber } from '../live/format.js';
import { pathCells, tableHead, tableRow } from '../live/path_cells.js';
import { PathChart, type ChartSample } from '../live/path_charts.js';
import { PathHistory } from '../live/path_history.js';
import { total, TunnelHistory, type TunnelSample } from './tunnel_history.js';

const INTERVAL_MS = 1_000;

/** What the reasons of drops mean to people, which are those of `tunnelDropReasons` of @sheaf/native */
const reasons: Readonly<Record<string, string>> = {
  unknownContext: 'unknown context',
  targetTooLarge: 'too large behind the tunnel',
  targetBlocked: 'no room behind the tunnel',
  targetRefused: 'refused behind the tunnel',
  clientTooLarge: 'too large for the connection',
  queueFull: 'no room in the queue',
  queueStanding: 'waited too long',
  clientLost: 'lost on its way',
  overRate: 'above the rate of the user',
  fragment: 'a part of a packet',
  badHeader: 'without a target',
  noTunnel: 'to too many targets',
};

interface Point extends ChartSample {
  readonly value: number;
}

const valueOf = ({ value }: Point): number => value;
const pointsOf = (samples: readonly TunnelSample[], value: (sample: TunnelSample) => number): Point[] =>
  samples.map((sample) => ({ at: sample.at, lost: sample.lost, value: value(sample) }));

const charts = {
  rate: new PathChart<Point>(find('rate-chart'), valueOf),
  waiting: new PathChart<Point>(find('waiting-chart'), valueOf, true),
  roundTrip: new PathChart(find('round-trip-chart'), ({ roundTripMs }) => roundTripMs, true),
};
const tunnels = new TunnelHistory();
const paths = new PathHistory();

function show(report: TunnelReport, now: number): void {
  tunnels.add(report, now);
  paths.add(report.paths, now);
  const { samples } = tunnels;
  const latest = samples.at(-1);
  write('node', `${report.node} (${report.role})`);
  write('open', String(report.openTcp + report.openUdp));
  write('open-detail', `${report.openTcp} for TCP, ${report.openUdp} for UDP`);
  write('to-target', formatNumber(latest?.toTarget ?? 0));
  write('to-target-detail', `${formatBytes(report.bytesToTarget)} so far`);
  write('to-client', formatNumber(latest?.toClient ?? 0));
  write('to-client-detail', `${formatBytes(report.bytesToClient)} so far`);
  write('opening', report.openingMs === undefined ? '–' : formatNumber(report.openingMs));
  write('response', report.responseMs === undefined ? '–' : formatNumber(report.responseMs));
  write('waiting', formatBytes(report.waitingBytes));
  write('drops', String(total(report.drops)));
  write('refused', String(total(report.refused)));
  charts.rate.draw(
    [
      { place: 0, samples: pointsOf(samples, ({ toClient }) => toClient) },
      { place: 1, samples: pointsOf(samples, ({ toTarget }) => toTarget) },
    ],
    now,
  );
  charts.waiting.draw([{ place: 0, samples: pointsOf(samples, ({ waiting }) => waiting) }], now);
  charts.roundTrip.draw(paths.series(), now);
  const cells = paths.series().map(pathCells);
  find('paths-head').replaceChildren(...cells.slice(0, 1).map(tableHead));
  find('paths').replaceChildren(...cells.map(tableRow));
  const losses: [what: string, count: number][] = [
    ...Object.entries(report.drops).map(([reason, count]): [string, number] => [reasons[reason] ?? reason, count]),
    ...Object.entries(report.refused).map(([status, count]): [string, number] => [
      `refused with status ${status}`,
      count,
    ]),
  ];
  find<HTMLElement>('losses-frame').hidden = losses.every(([, count]) => count === 0);
  find('losses').replaceChildren(
    ...losses
      .filter(([, count]) => count > 0)
      .map(([what, count]) =>
        tableRow([
          ['What', what, ''],
          ['Number', String(count), 'number'],
        ]),
      ),
  );
}

function showState(state: string, kind: 'open' | 'lost'): void {
  write('state', state);
  find<HTMLElement>('state').dataset['state'] = kind;
}

for (;;) {
  try {
    const response = await fetch('report', { cache: 'no-store' });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const report = (await response.json()) as TunnelReport;
    showState(report.state, 'open');
    show(report, performance.now());
  } catch {
    showState('the node does not answer', 'lost');
  }
  // A page in the background asks for nothing.
  do await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  while (document.hidden);
}
