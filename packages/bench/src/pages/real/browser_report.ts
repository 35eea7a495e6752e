import type { Machine } from '../../measure/machine.js';
import type { Column, Measure, ReportData } from '../report/report_data.js';
import type { Finding } from '../simulation/findings.js';
import { cellName } from '../simulation/run_record.js';
import { criticalMs, objectMs, type BrowserCell } from './browser_cell.js';
import type { MeasuredBrowserPages } from './real_pages.js';

const MEASURES: readonly Measure<BrowserCell>[] = [
  { name: 'lcp_ms', title: 'largest paint', of: ({ lcp_ms }) => lcp_ms },
  { name: 'load_ms', title: 'load event', of: ({ load_ms }) => load_ms },
  { name: 'fcp_ms', title: 'first paint', of: ({ fcp_ms }) => fcp_ms },
  { name: 'critical_ms', title: 'critical set', of: ({ critical_ms }) => critical_ms },
  { name: 'object_ms', title: 'object', of: ({ object_ms }) => object_ms },
];

const COLUMNS: readonly Column<BrowserCell>[] = [
  {
    title: 'not ended',
    of: ({ censored }) => String(censored),
    csv: [['censored', (cell) => cell.censored]],
  },
  {
    title: 'repeated',
    of: ({ repeats }) => String(repeats),
    csv: [['repeats', (cell) => cell.repeats]],
  },
  {
    title: 'lost',
    of: ({ lost_percent }) => `${lost_percent} %`,
    csv: [['lost_percent', (cell) => cell.lost_percent]],
  },
  {
    title: 'queue full',
    of: ({ queue_full_percent }) => `${queue_full_percent} %`,
    csv: [['queue_full_percent', (cell) => cell.queue_full_percent]],
  },
  {
    title: 'machine load',
    of: ({ machine_load }) => String(machine_load),
    csv: [['machine_load', (cell) => cell.machine_load]],
  },
  {
    title: 'largest paint is',
    of: ({ lcp_element }) => lcp_element,
    csv: [['lcp_element', (cell) => cell.lcp_element]],
  },
];

export interface RealReport {
  machine: Machine;
  parameters: { runs: number; seed: number };
  measured: MeasuredBrowserPages;
  findings: Finding[];
}

export function browserReport({ machine, parameters, measured, findings }: RealReport): ReportData<BrowserCell> {
  const { runs, seed } = parameters;
  const { browser, pages, cells, missing } = measured;
  return {
    title: 'Page loads over several paths, in a browser',
    lead: 'Browser, page loader, edge, LTE and Wi-Fi at one time as relayed links, gateway: a process each.',
    about: `${browser}. ${runs} rounds with the seeds ${seed} to ${seed + runs - 1}, each with all cells once in random order; a connection and a browser context of its own for every load. A load that did not end over the session within a minute counts as a minute.`,
    machine,
    parameters: { ...parameters, browser },
    missing: missing > 0 ? `${missing} page loads were not measured.` : undefined,
    findings,
    cells,
    measures: MEASURES,
    headline: 'median',
    columns: COLUMNS,
    pages,
    loads: (cell) => {
      const page = pages.find(({ name }) => name === cell.page);
      return (measured.runs.get(cellName(cell)) ?? []).map((run) => {
        const { lcp_ms, load_ms, fcp_ms, first_ms, done_ms } = run;
        const critical_ms = page ? criticalMs(page, run) : 0;
        return {
          seed: run.seed,
          client: 0,
          figures: { lcp_ms, load_ms, fcp_ms, critical_ms, object_ms: objectMs(run) },
          first_ms,
          done_ms,
          critical_ms,
        };
      });
    },
    runs: measured.runs,
  };
}
