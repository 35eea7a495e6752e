import type { Machine } from '../../measure/machine.js';
import type { PagesCell } from '../simulation/cell.js';
import type { Finding } from '../simulation/findings.js';
import type { Page } from '../simulation/page.js';
import type { Run } from '../simulation/run_record.js';
import type { SimulationParameters } from '../simulation/simulated_pages.js';

/** Everything that a report shows. */
export interface ReportData {
  machine: Machine;
  parameters: SimulationParameters;
  /** Cells that were wanted and not measured. */
  missing: number;
  findings: Finding[];
  cells: PagesCell[];
  pages: Page[];
  /** By the name of the cell. */
  runs: ReadonlyMap<string, readonly Run[]>;
}
