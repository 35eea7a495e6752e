import type { Machine } from '../../measure/machine.js';
import type { Column, Measure, ReportData, ReportLoad } from './report_data.js';
import type { PagesCell } from '../simulation/cell.js';
import type { Finding } from '../simulation/findings.js';
import { cellName, type Run } from '../simulation/run_record.js';
import type { MeasuredPages, SimulationParameters } from '../simulation/simulated_pages.js';

const MEASURES: readonly Measure<PagesCell>[] = [
  { name: 'plt_ms', title: 'page load', of: ({ plt_ms }) => plt_ms },
  { name: 'critical_ms', title: 'critical set', of: ({ critical_ms }) => critical_ms },
  { name: 'object_ms', title: 'object', of: ({ object_ms }) => object_ms },
  { name: 'byte_index_ms', title: 'byte index', of: ({ byte_index_ms }) => byte_index_ms },
];

const COLUMNS: readonly Column<PagesCell>[] = [
  {
    title: '× bound',
    of: ({ over_bound }) => over_bound.toFixed(3),
    csv: [
      ['lower_bound_ms', (cell) => cell.lower_bound_ms],
      ['over_bound', (cell) => cell.over_bound],
    ],
  },
  {
    title: 'lost',
    of: ({ lost_percent }) => `${lost_percent} %`,
    csv: [['lost_percent', (cell) => cell.lost_percent]],
  },
  {
    title: 'published',
    of: ({ published }) =>
      published ? `${published.mean_ms} (median ${published.median_ms}, n = ${published.runs})` : '',
    csv: [
      ['published_mean_ms', (cell) => cell.published?.mean_ms ?? ''],
      ['published_median_ms', (cell) => cell.published?.median_ms ?? ''],
      ['published_runs', (cell) => cell.published?.runs ?? ''],
    ],
  },
];

const FAIRNESS: Column<PagesCell> = {
  title: 'fairness',
  of: ({ fairness }) => fairness?.toFixed(3) ?? '',
  csv: [['fairness', (cell) => cell.fairness ?? '']],
};

export interface SimulatedReport {
  machine: Machine;
  parameters: SimulationParameters;
  measured: Pick<MeasuredPages, 'pages' | 'cells' | 'runs' | 'missing'>;
  findings: Finding[];
}

export function simulationReport({ machine, parameters, measured, findings }: SimulatedReport): ReportData<PagesCell> {
  const { runs, seed, clients } = parameters;
  const { pages, cells, missing } = measured;
  return {
    title: 'Page loads over several paths, simulated',
    lead: 'LTE and Wi-Fi at one time, one warm connection, every scheduler with the same seeds.',
    about: `${runs} runs a cell with the seeds ${seed} to ${seed + runs - 1}${clients > 1 ? `, ${clients} clients at one time` : ''}.`,
    machine,
    parameters: { ...parameters },
    missing: missing > 0 ? `${missing} cells were not measured.` : undefined,
    findings,
    cells,
    measures: MEASURES,
    headline: 'mean',
    columns: clients > 1 ? [...COLUMNS, FAIRNESS] : COLUMNS,
    bound: ({ lower_bound_ms }) => lower_bound_ms,
    reference: ({ published }) =>
      published && {
        value: published.mean_ms,
        title: `published mean ${published.mean_ms} ms, median ${published.median_ms} ms, n = ${published.runs}`,
      },
    pages,
    loads: (cell) => {
      const critical =
        pages
          .find(({ name }) => name === cell.page)
          ?.resources.flatMap((resource, index) => (resource.critical ? [index] : [])) ?? [];
      return (measured.runs.get(cellName(cell)) ?? []).flatMap((run) => loadsOf(run, critical));
    },
    runs: measured.runs,
  };
}

function loadsOf({ seed, clients }: Run, critical: readonly number[]): ReportLoad[] {
  return clients.map(({ plt_ms, byte_index_ms, first_ms, done_ms }, client) => {
    const critical_ms = Math.max(...critical.map((index) => done_ms[index] ?? 0));
    return { seed, client, figures: { plt_ms, critical_ms, byte_index_ms }, first_ms, done_ms, critical_ms };
  });
}
