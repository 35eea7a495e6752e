import type { Machine } from '../../measure/machine.js';
import type { Summary } from '../../measure/statistics.js';
import type { Finding } from '../simulation/findings.js';
import type { Page } from '../simulation/page.js';

/** The part of a cell that a report needs */
export interface ReportCell {
  page: string;
  tree: string;
  level: string;
  scheduler: string;
  /** Congestion controller */
  controller: string;
  runs: number;
}

/** A figure that is compared over all cells, in milliseconds */
export interface Measure<Cell> {
  /** Name in CSV and JSON */
  name: string;
  title: string;
  of: (cell: Cell) => ReportSummary;
}

export interface ReportSummary extends Summary {
  /** 95 % interval of the median, if it is known */
  median_ci95?: [number, number];
}

/** A further fact about each cell; an empty text when it is unknown */
export interface Column<Cell> {
  title: string;
  /** Text for people, and columns of the CSV file, which may differ from it */
  of: (cell: Cell) => string;
  csv: readonly (readonly [name: string, value: (cell: Cell) => string | number])[];
}

/** One page load. Times are in the order of the resources, null for those that were not requested. */
export interface ReportLoad {
  seed: number;
  client: number;
  /** Values of measures and of other figures, by name */
  figures: Readonly<Record<string, number>>;
  first_ms: readonly (number | null)[];
  done_ms: readonly (number | null)[];
  critical_ms: number;
}

/** Everything that a report shows, whatever was measured */
export interface ReportData<Cell extends ReportCell = ReportCell> {
  title: string;
  lead: string;
  /** The method, in a sentence or two */
  about: string;
  machine: Machine;
  parameters: Readonly<Record<string, unknown>>;
  /** What was requested and not measured; undefined when nothing is missing */
  missing: string | undefined;
  findings: Finding[];
  cells: Cell[];
  /** Measures of the experiment. The first is the main one: it has box plots, and selects the runs of waterfalls. */
  measures: readonly Measure<Cell>[];
  /** Statistic that tables compare */
  headline: 'mean' | 'median';
  columns: readonly Column<Cell>[];
  /** Bound of the main measure, if there is one */
  bound?: (cell: Cell) => number;
  /** Value of others for the main measure */
  reference?: (cell: Cell) => { value: number; title: string } | undefined;
  pages: Page[];
  loads: (cell: Cell) => readonly ReportLoad[];
  /** All measured runs, by the name of the cell */
  runs: ReadonlyMap<string, readonly unknown[]>;
}

/** Returns the interval that belongs to the headline. */
export function intervalOf(
  { ci95, median_ci95 }: ReportSummary,
  headline: ReportData['headline'],
): [number, number] | null {
  return headline === 'median' ? (median_ci95 ?? null) : ci95;
}
