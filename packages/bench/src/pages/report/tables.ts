import type { ResultTable } from '../../experiment.js';
import type { Finding } from '../simulation/findings.js';
import { labelOf } from '../simulation/schedulers.js';
import type { Measure, ReportCell, ReportData } from './report_data.js';

/** All cells of one page, tree and level */
export interface CellGroup<Cell extends ReportCell> {
  page: string;
  tree: string;
  level: string;
  cells: Cell[];
}

/** Groups cells, in the order in which they come. */
export function groupCells<Cell extends ReportCell>(cells: readonly Cell[]): CellGroup<Cell>[] {
  const groups = new Map<string, CellGroup<Cell>>();
  for (const cell of cells) {
    const { page, tree, level } = cell;
    const name = [page, tree, level].join();
    const group = groups.get(name) ?? { page, tree, level, cells: [] };
    group.cells.push(cell);
    groups.set(name, group);
  }
  return [...groups.values()];
}

export const schedulersOf = (cells: readonly ReportCell[]): string[] => [
  ...new Set(cells.map(({ scheduler }) => scheduler)),
];

/** Returns the least value of cells with the common congestion controller; of all cells when none has it. */
export function leastOf<Cell extends ReportCell>(
  cells: readonly Cell[],
  measure: Measure<Cell>,
  headline: ReportData['headline'],
): number {
  const common = cells.filter(({ controller }) => controller === 'olia');
  return Math.min(...(common.length > 0 ? common : cells).map((cell) => measure.of(cell)[headline]));
}

/**
 * Renders a table in milliseconds, with one row for each page, tree and level. The least value with the common
 * congestion controller is marked.
 */
export function pagesTable<Cell extends ReportCell>(
  { cells, measures, headline, bound }: Pick<ReportData<Cell>, 'cells' | 'measures' | 'headline' | 'bound'>,
  measure: Measure<Cell>,
): ResultTable {
  const schedulers = schedulersOf(cells);
  const limit = measure === measures[0] ? bound : undefined;
  return {
    head: [
      `${measure.title}, ${headline}, ms`,
      'tree',
      'level',
      ...(limit ? ['bound'] : []),
      ...schedulers.map(labelOf),
    ],
    rows: groupCells(cells).map(({ page, tree, level, cells: group }) => {
      const valueOf = (cell: Cell): number => measure.of(cell)[headline];
      const least = leastOf(group, measure, headline);
      const values = schedulers.map((scheduler) => {
        const cell = group.find((candidate) => candidate.scheduler === scheduler);
        return cell ? `${valueOf(cell).toFixed(0)}${valueOf(cell) === least ? ' *' : ''}` : '';
      });
      return [page, tree, level, ...(limit ? [group[0] ? limit(group[0]).toFixed(0) : ''] : []), ...values];
    }),
    notes: [],
  };
}

export function findingLines({ claim, holds, measured, why }: Finding): string[] {
  const verdict =
    holds === null ? (measured.length > 0 ? 'cannot be told' : 'not measured') : holds ? 'holds' : 'does not hold';
  return [`${verdict}: ${claim}`, ...measured.map((line) => `    ${line}`), ...(why ? [`    why: ${why}`] : [])];
}
