import { round } from '../../measure/statistics.js';
import type { DocumentTable, Rerunnable } from '../artefact/artefact.js';
import { tableOf, type Row } from '../report/view.js';
import type { Result } from '../results/result.js';
import type { Figure } from '../verdict/figure.js';

/** Digits of the figures in documents, which suffice for a reader */
const digits = 3;

/** One figure of a table, with what tells it from the others: its arm, its quantity and its axes */
interface Entry {
  coordinates: Readonly<Record<string, string>>;
  text: string;
}

/** Writes a table in Markdown. Its columns are arms, quantities or the values of an axis; its rows are the rest. */
export function markdownTable(artefact: Rerunnable, result: Result, table: DocumentTable): string {
  const tables = table.quantities.map((quantity) =>
    tableOf(artefact, result, { quantity, arms: table.arms, where: table.where }),
  );
  const several = new Set(tables.map(({ statistic }) => statistic)).size > 1;
  const entries = tables.flatMap((found) => {
    const { name, unit, statistic, rows } = found;
    const title = [name, unit, ...(several ? [statistic] : [])].join(', ');
    return rows.map((row) => entryOf(title, row, table));
  });
  const columns = namesOf(entries, table.columns);
  const sides = [...new Set(entries.flatMap(({ coordinates }) => Object.keys(coordinates)))].filter(
    (name) => name !== table.columns && namesOf(entries, name).length > 1,
  );
  const rows = new Map<string, Entry[]>();
  for (const entry of entries) {
    const key = JSON.stringify(sides.map((name) => entry.coordinates[name] ?? ''));
    rows.set(key, [...(rows.get(key) ?? []), entry]);
  }
  return [
    line([...sides, ...columns]),
    line([...sides, ...columns].map(() => '---')),
    ...[...rows].map(([key, own]) =>
      line([
        ...(JSON.parse(key) as string[]),
        ...columns.map((name) => own.find(({ coordinates }) => coordinates[table.columns] === name)?.text ?? ''),
      ]),
    ),
  ].join('\n');
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const namesOf = (entries: readonly Entry[], coordinate: string): string[] => [
  ...new Set(entries.flatMap(({ coordinates }) => coordinates[coordinate] ?? [])),
];

function entryOf(quantity: string, row: Row, { interval, ratio, published }: DocumentTable): Entry {
  const axes = Object.entries(row.at).map(([axis, value]) => [axis, String(value)] as const);
  return {
    coordinates: { ...Object.fromEntries(axes), arm: row.label, quantity },
    text: [
      valueText(row.ours, interval),
      ...(ratio && row.oursToBaseline ? [`× ${shown(row.oursToBaseline.value)}`] : []),
      ...(published && row.published !== undefined ? [`[${row.published}]`] : []),
    ].join(' '),
  };
}

const shown = (value: number): string => String(round(value, digits));

const valueText = ({ value, interval }: Figure, withInterval: boolean): string =>
  withInterval && interval ? `${shown(value)} (${shown(interval[0])} to ${shown(interval[1])})` : shown(value);
