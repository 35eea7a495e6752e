import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { csv } from '../../pages/report/csv.js';
import { isRerunnable } from '../artefact/artefact.js';
import { htmlReport } from './html.js';
import { pictureOf } from './picture.js';
import { drawPlot } from './plot.js';
import { tablesOf, type ArtefactView, type QuantityTable } from './view.js';

/** Writes the page, and a picture and a table of values for each artefact. Returns the page's file. */
export async function writeReport(directory: string, views: readonly ArtefactView[]): Promise<string> {
  const page = join(directory, 'report.html');
  const reported = views.map((view) => ({ ...view, tables: tablesOf(view) }));
  await writeBelow(page, await htmlReport(reported));
  for (const { artefact, tables } of reported) {
    if (!isRerunnable(artefact)) continue;
    for (const table of tables) await writeBelow(join(directory, `${artefact.id}-${table.quantity}.csv`), csvOf(table));
    for (const [index, plot] of artefact.plots.entries()) {
      const table = tables.find(({ quantity }) => quantity === plot.quantity);
      if (!table) continue;
      const picture = pictureOf(await drawPlot(plot, table));
      await writeBelow(join(directory, `${artefact.id}-${index + 1}.svg`), picture);
    }
  }
  return page;
}

async function writeBelow(file: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

function csvOf({ rows }: QuantityTable): string {
  const axes = [...new Set(rows.flatMap(({ at }) => Object.keys(at)))];
  const lines = rows.map(({ at, arm, ours, published }) => [
    ...axes.map((axis) => at[axis] ?? ''),
    arm,
    ours.value,
    ...(ours.interval ?? ['', '']),
    ours.n,
    published ?? '',
  ]);
  return csv([[...axes, 'arm', 'value', 'low', 'high', 'n', 'published'], ...lines]);
}
