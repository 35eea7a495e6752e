import type { ReportCell, ReportData } from './report_data.js';

type Value = string | number;

/** Formats CSV (RFC 4180), with line feeds. */
export function csv(rows: readonly (readonly Value[])[]): string {
  return rows.map((row) => `${row.map(field).join(',')}\n`).join('');
}

function field(value: Value): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Writes one row for each cell. */
export function cellsCsv<Cell extends ReportCell>({
  cells,
  measures,
  columns,
}: Pick<ReportData<Cell>, 'cells' | 'measures' | 'columns'>): string {
  const further = columns.flatMap((column) => column.csv);
  const head = [
    'page',
    'tree',
    'level',
    'scheduler',
    'controller',
    'runs',
    ...measures.flatMap(({ name }) =>
      ['mean', 'median', 'p95', 'ci95_low', 'ci95_high'].map((part) => `${name}_${part}`),
    ),
    ...further.map(([name]) => name),
  ];
  const rows = cells.map((cell) => [
    cell.page,
    cell.tree,
    cell.level,
    cell.scheduler,
    cell.controller,
    cell.runs,
    ...measures.flatMap((measure) => {
      const { mean, median, p95, ci95 } = measure.of(cell);
      return [mean, median, p95, ...(ci95 ?? ['', ''])];
    }),
    ...further.map(([, value]) => value(cell)),
  ]);
  return csv([head, ...rows]);
}

/** Writes one row for each run and client. */
export function runsCsv<Cell extends ReportCell>({ cells, loads }: Pick<ReportData<Cell>, 'cells' | 'loads'>): string {
  const all = cells.flatMap((cell) => loads(cell).map((load) => ({ cell, load })));
  const names = Object.keys(all[0]?.load.figures ?? {});
  const rows = all.map(({ cell, load: { seed, client, figures } }) => [
    cell.page,
    cell.tree,
    cell.level,
    cell.scheduler,
    seed,
    client,
    ...names.map((name) => figures[name] ?? ''),
  ]);
  return csv([['page', 'tree', 'level', 'scheduler', 'seed', 'client', ...names], ...rows]);
}
