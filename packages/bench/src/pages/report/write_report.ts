import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cellsCsv, runsCsv } from './csv.js';
import { htmlReport } from './html.js';
import { markdownReport } from './markdown.js';
import type { ReportCell, ReportData } from './report_data.js';

/** Writes report.html, report.md, report.json (with every run), cells.csv and runs.csv. */
export async function writeReport<Cell extends ReportCell>(directory: string, data: ReportData<Cell>): Promise<void> {
  await mkdir(directory, { recursive: true });
  const { machine, parameters, missing, findings, cells, pages, runs } = data;
  const files = {
    'report.html': htmlReport(data),
    'report.md': markdownReport(data),
    'report.json': `${JSON.stringify({ experiment: 'pages', machine, parameters, missing, findings, cells, pages, runs: Object.fromEntries(runs) })}\n`,
    'cells.csv': cellsCsv(data),
    'runs.csv': runsCsv(data),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
}
