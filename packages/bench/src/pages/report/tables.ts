import type { ResultTable } from '../../experiment.js';
import type { PagesCell } from '../simulation/cell.js';
import type { Finding } from '../simulation/findings.js';
import { labelOf } from '../simulation/schedulers.js';

/** All cells of one page, tree and level. */
export interface CellGroup {
  page: string;
  tree: string;
  level: string;
  cells: PagesCell[];
}

/** In the order in which they come. */
export function groupCells(cells: readonly PagesCell[]): CellGroup[] {
  const groups = new Map<string, CellGroup>();
  for (const cell of cells) {
    const { page, tree, level } = cell;
    const name = [page, tree, level].join();
    const group = groups.get(name) ?? { page, tree, level, cells: [] };
    group.cells.push(cell);
    groups.set(name, group);
  }
  return [...groups.values()];
}

export const schedulersOf = (cells: readonly PagesCell[]): string[] => [...new Set(cells.map(({ scheduler }) => scheduler))];

/** What is compared over all cells, by its name in a cell. */
export const METRICS = { plt_ms: 'page load', critical_ms: 'critical set', object_ms: 'object', byte_index_ms: 'byte index' } as const;
export type Metric = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as Metric[];

/** Of those under the common congestion controller, where there are any. */
export function leastOf(cells: readonly PagesCell[], metric: Metric): number {
  const common = cells.filter(({ controller }) => controller === 'olia');
  return Math.min(...(common.length > 0 ? common : cells).map((cell) => cell[metric].mean));
}

/** Means in milliseconds, a row for each page, tree and level; the least under the common congestion controller is marked. */
export function pagesTable(cells: readonly PagesCell[], metric: Metric): ResultTable {
  const schedulers = schedulersOf(cells);
  return {
    head: [`${METRICS[metric]}, ms`, 'tree', 'level', ...(metric === 'plt_ms' ? ['bound'] : []), ...schedulers.map(labelOf)],
    rows: groupCells(cells).map(({ page, tree, level, cells: group }) => {
      const least = leastOf(group, metric);
      const values = schedulers.map((scheduler) => {
        const cell = group.find((candidate) => candidate.scheduler === scheduler);
        return cell ? `${cell[metric].mean.toFixed(0)}${cell[metric].mean === least ? ' *' : ''}` : '';
      });
      return [page, tree, level, ...(metric === 'plt_ms' ? [(group[0]?.lower_bound_ms ?? 0).toFixed(0)] : []), ...values];
    }),
    notes: [],
  };
}

export function findingLines({ claim, holds, measured, why }: Finding): string[] {
  const verdict = holds === null ? 'not measured' : holds ? 'holds' : 'does not hold';
  return [`${verdict}: ${claim}`, ...measured.map((line) => `    ${line}`), ...(why ? [`    why: ${why}`] : [])];
}
