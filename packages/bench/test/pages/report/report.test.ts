import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeMachine } from '../../../src/measure/machine.js';
import { publishedDirections } from '../../../src/pages/simulation/findings.js';
import { cellsCsv, csv } from '../../../src/pages/report/csv.js';
import { htmlReport } from '../../../src/pages/report/html.js';
import { markdownReport } from '../../../src/pages/report/markdown.js';
import type { ReportData } from '../../../src/pages/report/report_data.js';
import { linearScale } from '../../../src/pages/report/scale.js';
import { pagesTable } from '../../../src/pages/report/tables.js';
import type { PagesCell } from '../../../src/pages/simulation/cell.js';
import { simulationReport } from '../../../src/pages/report/simulation_report.js';
import { writeReport } from '../../../src/pages/report/write_report.js';
import { cellName } from '../../../src/pages/simulation/run_record.js';
import { someCell, somePage, someRun } from '../some_cells.js';

const keys = ['rr', 'dwrr'].flatMap((scheduler) =>
  (['low', 'high'] as const).map((level) => ({ page: 'google' as const, tree: 'chrome' as const, level, scheduler })),
);

function someReport(): ReportData<PagesCell> {
  const cells = keys.map((key, index) => someCell(key, 300 + 10 * index));
  const runs = new Map(
    keys.map((key, index) => [cellName(key), [someRun(1, 299 + 10 * index), someRun(2, 301 + 10 * index)]]),
  );
  return simulationReport({
    machine: describeMachine(),
    parameters: { runs: 2, seed: 1, clients: 1 },
    measured: { missing: 3, cells, pages: [somePage], runs },
    findings: publishedDirections(cells),
  });
}

describe('a cell', () => {
  const [cell] = someReport().cells;

  test('has the figures of all its runs', () => {
    expect(cell?.plt_ms).toMatchObject({ mean: 300, median: 300 });
    expect(cell?.critical_ms.mean).toBe(120);
    expect(cell?.object_ms).toMatchObject({ mean: 160, median: 120 });
    expect(cell?.lost_percent).toBe(10);
    expect(cell?.published).toEqual({ mean_ms: 399, median_ms: 393, runs: 100 });
    expect(cell?.fairness).toBeUndefined();
  });

  test('has its distance to the lower bound', () => {
    expect(cell?.lower_bound_ms).toBeGreaterThan(1_000_000 / 11_000);
    expect(cell?.over_bound).toBeCloseTo(300 / (cell?.lower_bound_ms ?? 0), 3);
  });
});

function tableOf(report: ReportData<PagesCell>): ReturnType<typeof pagesTable> {
  const [main] = report.measures;
  return main ? pagesTable(report, main) : { head: [], rows: [], notes: [] };
}

test('the table has a row for each setting and marks the least', () => {
  const { head, rows } = tableOf(someReport());
  expect(head.slice(4)).toEqual(['rr', 'dwrr']);
  expect(rows.map((row) => row.slice(4))).toEqual([
    ['300 *', '320'],
    ['310 *', '330'],
  ]);
});

test('the least is that of one controller, and another one is named', () => {
  const key = { page: 'google', tree: 'chrome', level: 'high' } as const;
  const { head, rows } = tableOf({
    ...someReport(),
    cells: [someCell({ ...key, scheduler: 'rr' }, 300), someCell({ ...key, scheduler: 'critical-first-bbr' }, 200)],
  });
  expect(head.slice(4)).toEqual(['rr', 'critical-first-bbr (BBR instead of OLIA)']);
  expect(rows[0]?.slice(4)).toEqual(['300 *', '200']);
});

test('CSV quotes what needs it', () => {
  expect(csv([['a', 'b"c', 'd,e', 1]])).toBe('a,"b""c","d,e",1\n');
  const [head = '', first = ''] = cellsCsv(someReport()).split('\n');
  expect(head.split(',')).toHaveLength(first.split(',').length);
  expect(first).toMatch(/^google,chrome,low,rr,olia,2,300,300,/);
});

test('the Markdown has the published values beside ours', () => {
  const text = markdownReport(someReport());
  expect(text).toContain('## google, chrome, low');
  expect(text).toContain('399 (median 393, n = 100)');
  expect(text).toContain('3 cells were not measured.');
  for (const line of text.split('\n').filter((candidate) => candidate.startsWith('| ')))
    expect(line.match(/\|/g)).toHaveLength(11);
});

describe('the HTML', () => {
  const html = htmlReport(someReport());

  test('needs nothing from anywhere else', () => {
    expect(html).not.toMatch(/\b(src|href|xlink:href)=|url\(|@import|https?:/);
  });

  test('shows one setting of all', () => {
    expect(html.match(/class="details"/g)).toHaveLength(2);
    expect(html.match(/class="details"[^>]*hidden/g)).toHaveLength(1);
    expect(html.match(/data-overview="\w+">/g)).toEqual(['data-overview="plt_ms">']);
    expect(html.match(/aria-label="Waterfall"/g)).toHaveLength(4);
  });

  test('does not take names for markup', () => {
    expect(html).not.toContain('a<b>');
    expect(html).toContain('a&#60;b&#62;&#38;&#34;.css');
  });

  test('has every number', () => {
    expect(html).not.toMatch(/NaN|undefined|Infinity/);
  });
});

test('scales end at a round value', () => {
  const scale = linearScale(437, [0, 100], 4);
  expect(scale.ticks).toEqual([0, 200, 400, 600]);
  expect(scale(300)).toBe(50);
  expect(linearScale(0, [0, 100]).ticks.at(-1)).toBe(1);
});

describe('a report on disk', () => {
  let directory: string;
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'sheaf-report-'))));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test('has every run as JSON and as CSV', async () => {
    await writeReport(directory, someReport());
    const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
    const { cells, runs } = JSON.parse(read('report.json')) as { cells: unknown[]; runs: Record<string, unknown[]> };
    expect(cells).toHaveLength(4);
    expect(Object.values(runs).flat()).toHaveLength(8);
    expect(read('runs.csv').trimEnd().split('\n')).toHaveLength(9);
    expect(read('report.md')).toContain('# Page loads');
    expect(read('report.html')).toContain('<!doctype html>');
  });
});
