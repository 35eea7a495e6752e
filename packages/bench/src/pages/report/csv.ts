import type { PagesCell } from '../simulation/cell.js';
import type { Page } from '../simulation/page.js';
import { cellName, type Run } from '../simulation/run_record.js';
import { METRIC_NAMES } from './tables.js';

type Value = string | number;

/** RFC 4180, with line feeds. */
export function csv(rows: readonly (readonly Value[])[]): string {
  return rows.map((row) => `${row.map(field).join(',')}\n`).join('');
}

function field(value: Value): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A row for each cell. */
export function cellsCsv(cells: readonly PagesCell[]): string {
  const head = ['page', 'tree', 'level', 'scheduler', 'controller', 'runs', ...METRIC_NAMES.flatMap((metric) => ['mean', 'median', 'p95', 'ci95_low', 'ci95_high'].map((part) => `${metric}_${part}`)), 'lower_bound_ms', 'over_bound', 'lost_percent', 'fairness', 'published_mean_ms', 'published_median_ms', 'published_runs'];
  const rows = cells.map((cell) => [
    cell.page,
    cell.tree,
    cell.level,
    cell.scheduler,
    cell.controller,
    cell.runs,
    ...METRIC_NAMES.flatMap((metric) => [cell[metric].mean, cell[metric].median, cell[metric].p95, ...(cell[metric].ci95 ?? ['', ''])]),
    cell.lower_bound_ms,
    cell.over_bound,
    cell.lost_percent,
    cell.fairness ?? '',
    cell.published?.mean_ms ?? '',
    cell.published?.median_ms ?? '',
    cell.published?.runs ?? '',
  ]);
  return csv([head, ...rows]);
}

/** A row for each run and client. */
export function runsCsv(cells: readonly PagesCell[], pages: readonly Page[], runs: ReadonlyMap<string, readonly Run[]>): string {
  const rows = cells.flatMap((cell) => {
    const critical = pages.find(({ name }) => name === cell.page)?.resources.flatMap((resource, index) => (resource.critical ? [index] : [])) ?? [];
    return (runs.get(cellName(cell)) ?? []).flatMap(({ seed, clients }) =>
      clients.map(({ plt_ms, byte_index_ms, done_ms }, client) => [cell.page, cell.tree, cell.level, cell.scheduler, seed, client, plt_ms, Math.max(...critical.map((index) => done_ms[index] ?? 0)), byte_index_ms]));
  });
  return csv([['page', 'tree', 'level', 'scheduler', 'seed', 'client', 'plt_ms', 'critical_ms', 'byte_index_ms'], ...rows]);
}
