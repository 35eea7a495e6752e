import type { Machine } from '../../measure/machine.js';
import type { Summary } from '../../measure/statistics.js';
import type { Finding } from '../simulation/findings.js';
import type { Page } from '../simulation/page.js';

/** What a report needs of a cell. */
export interface ReportCell {
  page: string;
  tree: string;
  level: string;
  scheduler: string;
  /** Congestion controller. */
  controller: string;
  runs: number;
}

/** What is compared over all cells; milliseconds. */
export interface Measure<Cell> {
  /** In CSV and JSON. */
  name: string;
  title: string;
  of: (cell: Cell) => ReportSummary;
}

export interface ReportSummary extends Summary {
  /** Where it is known: 95 % interval of the median. */
  median_ci95?: [number, number];
}

/** Something else that is known of each cell; empty text where it is not. */
export interface Column<Cell> {
  title: string;
  /** Of the column in the CSV file, where it differs from what people read. */
  of: (cell: Cell) => string;
  csv: readonly (readonly [name: string, value: (cell: Cell) => string | number])[];
}

/** One page load; times in the order of the resources, null for those that were not asked for. */
export interface ReportLoad {
  seed: number;
  client: number;
  /** Its values of measures and others, by name. */
  figures: Readonly<Record<string, number>>;
  first_ms: readonly (number | null)[];
  done_ms: readonly (number | null)[];
  critical_ms: number;
}

/** Everything that a report shows, whatever was measured. */
export interface ReportData<Cell extends ReportCell = ReportCell> {
  title: string;
  lead: string;
  /** How it was measured, in a sentence or two. */
  about: string;
  machine: Machine;
  parameters: Readonly<Record<string, unknown>>;
  /** What was wanted and not measured; undefined when nothing is missing. */
  missing: string | undefined;
  findings: Finding[];
  cells: Cell[];
  /** The first one is the experiment's main one: it has box plots, and chooses the runs of waterfalls. */
  measures: readonly Measure<Cell>[];
  /** Which of a summary's figures tables compare. */
  headline: 'mean' | 'median';
  columns: readonly Column<Cell>[];
  /** Of the main measure, where there is one. */
  bound?: (cell: Cell) => number;
  /** A value of others for the main measure. */
  reference?: (cell: Cell) => { value: number; title: string } | undefined;
  pages: Page[];
  loads: (cell: Cell) => readonly ReportLoad[];
  /** Every run as it was measured, by the name of its cell. */
  runs: ReadonlyMap<string, readonly unknown[]>;
}

/** The interval that belongs to the headline. */
export function intervalOf(
  { ci95, median_ci95 }: ReportSummary,
  headline: ReportData['headline'],
): [number, number] | null {
  return headline === 'median' ? (median_ci95 ?? null) : ci95;
}
