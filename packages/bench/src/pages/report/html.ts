import { machineLine } from '../../measure/machine.js';
import type { Finding } from '../simulation/findings.js';
import type { Page } from '../simulation/page.js';
import { labelOf, SCHEDULERS } from '../simulation/schedulers.js';
import { boxPlot } from './box_plot.js';
import { cdfChart } from './cdf_chart.js';
import { element, escapeText } from './markup.js';
import { REPORT_SCRIPT } from './report_script.js';
import { REPORT_STYLE } from './report_style.js';
import { intervalOf, type Measure, type ReportCell, type ReportData, type ReportLoad } from './report_data.js';
import { groupCells, leastOf, schedulersOf, type CellGroup } from './tables.js';
import { waterfall } from './waterfall.js';

/** Renders a document that loads nothing else. */
export function htmlReport<Cell extends ReportCell>(data: ReportData<Cell>): string {
  const { title, lead, about, machine, missing, findings, cells, measures, headline } = data;
  const groups = groupCells(cells);
  const body = [
    element(
      'header',
      {},
      element('h1', {}, escapeText(title)),
      element('p', { class: 'lead' }, escapeText(lead)),
      element('p', { class: 'about' }, escapeText(`${about} ${machineLine(machine)}.`)),
      ...(missing === undefined ? [] : [element('p', { class: 'warning' }, escapeText(missing))]),
    ),
    element(
      'section',
      { id: 'findings' },
      element('h2', {}, 'Findings'),
      element('div', { class: 'findings' }, ...findings.map(findingCard)),
    ),
    element(
      'section',
      { id: 'overview' },
      element('h2', {}, 'All settings'),
      element(
        'p',
        { class: 'note' },
        `${headline === 'mean' ? 'Means' : 'Medians'} in milliseconds; the darker, the closer to the best of its row under OLIA. ${data.bound ? `The bound of the ${measures[0]?.title} counts bytes over capacity and the round trips that nothing can avoid. ` : ''}A row opens its details below.`,
      ),
      element(
        'div',
        { class: 'choice', role: 'group', 'aria-label': 'measure' },
        ...measures.map((measure, index) =>
          element(
            'button',
            { type: 'button', 'data-metric': measure.name, 'aria-pressed': String(index === 0) },
            escapeText(measure.title),
          ),
        ),
      ),
      ...measures.map((measure) => overview(groups, measure, data)),
    ),
    element(
      'section',
      { id: 'details' },
      element('h2', {}, 'One setting'),
      selectors(groups),
      ...groups.map((group, index) => details(group, data, index === 0)),
    ),
  ];
  return `<!doctype html>\n${element(
    'html',
    { lang: 'en' },
    element(
      'head',
      {},
      '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
      element('title', {}, escapeText(title)),
      element('style', {}, REPORT_STYLE),
    ),
    element('body', {}, element('main', {}, ...body), element('script', {}, REPORT_SCRIPT)),
  )}\n`;
}

function findingCard({ claim, holds, measured, why }: Finding): string {
  const [state, verdict] =
    holds === null
      ? ['open', measured.length > 0 ? 'cannot be told' : 'not measured']
      : holds
        ? ['holds', 'holds']
        : ['fails', 'does not hold'];
  return element(
    'article',
    { class: `finding ${state}` },
    element('span', { class: 'verdict' }, verdict),
    element('h3', {}, escapeText(claim)),
    ...(measured.length > 0 ? [element('ul', {}, ...measured.map((line) => element('li', {}, escapeText(line))))] : []),
    ...(why ? [element('p', {}, escapeText(why))] : []),
  );
}

// --- all settings --------------------------------------------------------------------------------

const groupId = ({ page, tree, level }: Pick<ReportCell, 'page' | 'tree' | 'level'>): string =>
  `${page}-${tree}-${level}`;
/** Chooses a color by the scheduler's place in the complete list, so that a selection does not change colors. */
const seriesOf = (scheduler: string): string => `series-${SCHEDULERS.findIndex(({ name }) => name === scheduler)}`;
const isOurs = (scheduler: string): boolean =>
  SCHEDULERS.some(({ name, kind }) => name === scheduler && kind === 'ours');

function overview<Cell extends ReportCell>(
  groups: readonly CellGroup<Cell>[],
  measure: Measure<Cell>,
  data: ReportData<Cell>,
): string {
  const { cells, measures, headline, bound } = data;
  const schedulers = schedulersOf(cells);
  const isMain = measure === measures[0];
  const limit = isMain ? bound : undefined;
  const head = element(
    'tr',
    {},
    ...['page', 'tree', 'level', 'bound'].map((title) => element('th', {}, title)),
    ...schedulers.map((name) => element('th', { class: isOurs(name) ? 'ours' : undefined }, escapeText(labelOf(name)))),
  );
  const rows = groups.map((group) => {
    const least = leastOf(group.cells, measure, headline);
    const values = schedulers.map((scheduler) => {
      const cell = group.cells.find((candidate) => candidate.scheduler === scheduler);
      return cell ? overviewValue(cell, measure, least, data) : element('td', {});
    });
    const [first] = group.cells;
    return element(
      'tr',
      { 'data-setting': groupId(group) },
      ...[group.page, group.tree, group.level].map((text) => element('th', { scope: 'row' }, escapeText(text))),
      element('td', { class: 'bound' }, limit && first ? limit(first).toFixed(0) : ''),
      ...values,
    );
  });
  return element(
    'div',
    { class: 'scroll', 'data-overview': measure.name, hidden: isMain ? undefined : 'hidden' },
    element('table', { class: 'overview' }, element('thead', {}, head), element('tbody', {}, ...rows)),
  );
}

function overviewValue<Cell extends ReportCell>(
  cell: Cell,
  measure: Measure<Cell>,
  least: number,
  { measures, headline, bound, reference }: ReportData<Cell>,
): string {
  const summary = measure.of(cell);
  const value = summary[headline];
  // A value 1.5 times as large as the best has the lightest color.
  const closeness = Math.max(0, 1 - (value / least - 1) / 0.5);
  const interval = intervalOf(summary, headline);
  const isMain = measure === measures[0];
  const remarks = [
    `mean ${summary.mean.toFixed(1)}, median ${summary.median.toFixed(1)}`,
    ...(interval ? [`95 % interval ${interval[0].toFixed(0)} to ${interval[1].toFixed(0)}`] : []),
    ...(isMain && bound ? [`${(value / bound(cell)).toFixed(2)} times the bound`] : []),
    ...(isMain ? [reference?.(cell)?.title ?? []].flat() : []),
  ];
  return element(
    'td',
    {
      class: value === least ? 'least' : undefined,
      style: `--closeness:${closeness.toFixed(2)}`,
      title: `${labelOf(cell.scheduler)}: ${remarks.join(', ')}`,
    },
    value.toFixed(0),
  );
}

// --- one setting ---------------------------------------------------------------------------------

function selectors<Cell extends ReportCell>(groups: readonly CellGroup<Cell>[]): string {
  const choices = (['page', 'tree', 'level'] as const).map((part) => {
    const names = [...new Set(groups.map((group) => group[part]))];
    const buttons = names.map((name) =>
      element('button', { type: 'button', 'data-part': part, 'data-name': name }, escapeText(name)),
    );
    return element('div', { class: 'choice', role: 'group', 'aria-label': part }, ...buttons);
  });
  return element('nav', {}, ...choices);
}

function details<Cell extends ReportCell>(group: CellGroup<Cell>, data: ReportData<Cell>, shown: boolean): string {
  const { pages, measures, bound, reference } = data;
  const [main] = measures;
  const [first] = group.cells;
  if (!main || !first) return '';
  const page = pages.find(({ name }) => name === group.page);
  const measured = group.cells.map((cell) => ({ cell, loads: data.loads(cell) }));
  const boxes = measured.map(({ cell, loads }) => {
    const mark = reference?.(cell);
    return {
      name: cell.scheduler,
      series: seriesOf(cell.scheduler),
      values: loads.map(({ figures }) => figures[main.name] ?? 0),
      mean: main.of(cell).mean,
      ...(mark && { reference: mark }),
    };
  });
  const curves = measured.map(({ cell, loads }) => ({
    name: cell.scheduler,
    series: seriesOf(cell.scheduler),
    values: loads.flatMap(({ done_ms }) => done_ms.filter((time) => time !== null)),
    emphasized: isOurs(cell.scheduler),
  }));
  const note = `Box: quartiles and median; dot: mean, also at the right${reference ? '; hollow diamond: published mean' : ''}.`;
  return element(
    'div',
    { class: 'details', 'data-setting': groupId(group), hidden: shown ? undefined : 'hidden' },
    element('h3', {}, escapeText(`${group.page}, ${group.tree}, ${group.level}`)),
    element(
      'div',
      { class: 'pair' },
      figure(`${capitalized(main.title)} (ms)`, note, boxPlot(boxes, bound && { value: bound(first), title: 'bound' })),
      figure(
        'Object completion time',
        'Share of the objects of all runs that are complete.',
        legend(group.cells) + cdfChart(curves, 'milliseconds'),
      ),
    ),
    figuresTable(group.cells, data),
    ...(page ? [waterfalls(page, main, measured)] : []),
  );
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const figure = (title: string, note: string, content: string): string =>
  element(
    'figure',
    {},
    element('figcaption', {}, element('strong', {}, title), ' ', element('span', {}, note)),
    content,
  );

const legend = (cells: readonly ReportCell[]): string =>
  element(
    'p',
    { class: 'legend' },
    ...cells.map(({ scheduler }) => element('span', { class: seriesOf(scheduler) }, escapeText(labelOf(scheduler)))),
  );

function figuresTable<Cell extends ReportCell>(
  cells: readonly Cell[],
  { measures, headline, columns }: ReportData<Cell>,
): string {
  const [main, ...others] = measures;
  if (!main) return '';
  const titles = [
    'scheduler',
    main.title,
    '95 % interval',
    headline === 'mean' ? 'median' : 'mean',
    'p95',
    ...others.flatMap(({ title }) => [title, `${title} p95`]),
    ...columns.map(({ title }) => title),
  ];
  const rows = cells.map((cell) => {
    const summary = main.of(cell);
    const interval = intervalOf(summary, headline);
    const values = [
      summary[headline].toFixed(1),
      interval ? `${interval[0].toFixed(0)} to ${interval[1].toFixed(0)}` : '',
      summary[headline === 'mean' ? 'median' : 'mean'].toFixed(1),
      summary.p95.toFixed(1),
      ...others.flatMap((measure) => [measure.of(cell)[headline].toFixed(1), measure.of(cell).p95.toFixed(1)]),
      ...columns.map((column) => column.of(cell)),
    ];
    return element(
      'tr',
      { class: isOurs(cell.scheduler) ? 'ours' : undefined },
      element('th', { scope: 'row', class: seriesOf(cell.scheduler) }, escapeText(labelOf(cell.scheduler))),
      ...values.map((value) => element('td', {}, escapeText(value))),
    );
  });
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      { class: 'figures' },
      element('thead', {}, element('tr', {}, ...titles.map((title) => element('th', {}, escapeText(title))))),
      element('tbody', {}, ...rows),
    ),
  );
}

function waterfalls<Cell extends ReportCell>(
  page: Page,
  main: Measure<Cell>,
  measured: readonly { cell: Cell; loads: readonly ReportLoad[] }[],
): string {
  const chosen = measured.flatMap(({ cell, loads }) => {
    const load = medianLoad(loads, main.name);
    return load ? [{ cell, load }] : [];
  });
  const end = Math.max(
    ...chosen.flatMap(({ load }) => [load.figures[main.name] ?? 0, ...load.done_ms.map((time) => time ?? 0)]),
  );
  const charts = chosen.map(({ cell, load }) => {
    const caption = element(
      'figcaption',
      {},
      element('strong', {}, escapeText(labelOf(cell.scheduler))),
      ' ',
      element('span', {}, `${(load.figures[main.name] ?? 0).toFixed(0)} ms, seed ${load.seed}`),
    );
    return element(
      'figure',
      { class: isOurs(cell.scheduler) ? 'ours' : undefined },
      caption,
      waterfall(page.resources, load, end),
    );
  });
  const kinds = [...new Set(page.resources.map((resource) => resource.class))];
  const key = element(
    'p',
    { class: 'legend' },
    ...kinds.map((kind) => element('span', { class: `kind-${kind}` }, kind)),
    element('span', { class: 'critical' }, 'critical set complete'),
  );
  return element(
    'div',
    { class: 'waterfalls' },
    element('h4', {}, 'Waterfalls of the median runs'),
    key,
    element('div', { class: 'grid-of-charts' }, ...charts),
  );
}

/** Returns the load with the (lower) median value. */
function medianLoad(loads: readonly ReportLoad[], name: string): ReportLoad | undefined {
  const sorted = [...loads].sort((a, b) => (a.figures[name] ?? 0) - (b.figures[name] ?? 0));
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
