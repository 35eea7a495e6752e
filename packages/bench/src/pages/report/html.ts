import { machineLine } from '../../measure/machine.js';
import type { PagesCell } from '../simulation/cell.js';
import type { Finding } from '../simulation/findings.js';
import type { Page } from '../simulation/page.js';
import { cellName, type Run } from '../simulation/run_record.js';
import { labelOf, SCHEDULERS } from '../simulation/schedulers.js';
import { boxPlot } from './box_plot.js';
import { cdfChart } from './cdf_chart.js';
import { element, escapeText } from './markup.js';
import { REPORT_SCRIPT } from './report_script.js';
import { REPORT_STYLE } from './report_style.js';
import type { ReportData } from './report_data.js';
import { groupCells, leastOf, METRIC_NAMES, METRICS, schedulersOf, type CellGroup, type Metric } from './tables.js';
import { waterfall } from './waterfall.js';

/** A document that needs nothing but itself. */
export function htmlReport(data: ReportData): string {
  const { machine, parameters, missing, findings, cells } = data;
  const { runs, seed, clients } = parameters;
  const groups = groupCells(cells);
  const about = `${runs} runs a cell with the seeds ${seed} to ${seed + runs - 1}${clients > 1 ? `, ${clients} clients at one time` : ''}. ${machineLine(machine)}.`;
  const body = [
    element('header', {}, element('h1', {}, 'Page loads over several paths'), element('p', { class: 'lead' }, 'Simulated: LTE and Wi-Fi at one time, one warm connection, every scheduler with the same seeds.'), element('p', { class: 'about' }, escapeText(about)), ...(missing > 0 ? [element('p', { class: 'warning' }, `${missing} cells were not measured.`)] : [])),
    element('section', { id: 'findings' }, element('h2', {}, 'Findings'), element('div', { class: 'findings' }, ...findings.map(findingCard))),
    element(
      'section',
      { id: 'overview' },
      element('h2', {}, 'All settings'),
      element('p', { class: 'note' }, 'Means in milliseconds; the darker, the closer to the best of its row under OLIA. The bound of the page load time counts bytes over capacity and the round trips that nothing can avoid. A row opens its details below.'),
      element('div', { class: 'choice', role: 'group', 'aria-label': 'measure' }, ...METRIC_NAMES.map((metric) => element('button', { type: 'button', 'data-metric': metric, 'aria-pressed': String(metric === 'plt_ms') }, METRICS[metric]))),
      ...METRIC_NAMES.map((metric) => overview(groups, schedulersOf(cells), metric)),
    ),
    element('section', { id: 'details' }, element('h2', {}, 'One setting'), selectors(groups), ...groups.map((group, index) => details(group, data, index === 0))),
  ];
  return `<!doctype html>\n${element(
    'html',
    { lang: 'en' },
    element('head', {}, '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">', element('title', {}, 'Page loads over several paths'), element('style', {}, REPORT_STYLE)),
    element('body', {}, element('main', {}, ...body), element('script', {}, REPORT_SCRIPT)),
  )}\n`;
}

function findingCard({ claim, holds, measured, why }: Finding): string {
  const [state, verdict] = holds === null ? ['open', 'not measured'] : holds ? ['holds', 'holds'] : ['fails', 'does not hold'];
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

const groupId = ({ page, tree, level }: Pick<CellGroup, 'page' | 'tree' | 'level'>): string => `${page}-${tree}-${level}`;
/** Colours go by the scheduler's place in the list of all, so that a selection does not change them. */
const seriesOf = (scheduler: string): string => `series-${SCHEDULERS.findIndex(({ name }) => name === scheduler)}`;
const isOurs = (scheduler: string): boolean => SCHEDULERS.some(({ name, kind }) => name === scheduler && kind === 'ours');

function overview(groups: readonly CellGroup[], schedulers: readonly string[], metric: Metric): string {
  const head = element('tr', {}, ...['page', 'tree', 'level', 'bound'].map((title) => element('th', {}, title)), ...schedulers.map((name) => element('th', { class: isOurs(name) ? 'ours' : undefined }, escapeText(labelOf(name)))));
  const rows = groups.map((group) => {
    const least = leastOf(group.cells, metric);
    const values = schedulers.map((scheduler) => {
      const cell = group.cells.find((candidate) => candidate.scheduler === scheduler);
      return cell ? overviewValue(cell, metric, least) : element('td', {});
    });
    const bound = metric === 'plt_ms' ? (group.cells[0]?.lower_bound_ms ?? 0).toFixed(0) : '';
    return element('tr', { 'data-setting': groupId(group) }, ...[group.page, group.tree, group.level].map((text) => element('th', { scope: 'row' }, escapeText(text))), element('td', { class: 'bound' }, bound), ...values);
  });
  return element('div', { class: 'scroll', 'data-overview': metric, hidden: metric === 'plt_ms' ? undefined : 'hidden' }, element('table', { class: 'overview' }, element('thead', {}, head), element('tbody', {}, ...rows)));
}

function overviewValue(cell: PagesCell, metric: Metric, least: number): string {
  const { scheduler, over_bound, published } = cell;
  const { mean, median, ci95 } = cell[metric];
  // Half as long again as the best is as light as it gets.
  const closeness = Math.max(0, 1 - (mean / least - 1) / 0.5);
  const interval = ci95 ? `, 95 % interval ${ci95[0].toFixed(0)} to ${ci95[1].toFixed(0)}` : '';
  const page = metric === 'plt_ms' ? `, ${over_bound.toFixed(2)} times the bound${published ? `; published mean ${published.mean_ms}` : ''}` : '';
  const title = `${labelOf(scheduler)}: mean ${mean.toFixed(1)}, median ${median.toFixed(1)}${interval}${page}`;
  return element('td', { class: mean === least ? 'least' : undefined, style: `--closeness:${closeness.toFixed(2)}`, title }, mean.toFixed(0));
}

// --- one setting ---------------------------------------------------------------------------------

function selectors(groups: readonly CellGroup[]): string {
  const choices = (['page', 'tree', 'level'] as const).map((part) => {
    const names = [...new Set(groups.map((group) => group[part]))];
    const buttons = names.map((name) => element('button', { type: 'button', 'data-part': part, 'data-name': name }, escapeText(name)));
    return element('div', { class: 'choice', role: 'group', 'aria-label': part }, ...buttons);
  });
  return element('nav', {}, ...choices);
}

function details(group: CellGroup, { pages, runs, parameters }: ReportData, shown: boolean): string {
  const page = pages.find(({ name }) => name === group.page);
  const measured = group.cells.map((cell) => ({ cell, runs: runs.get(cellName(cell)) ?? [] }));
  const loads = measured.map(({ cell, runs: own }) => ({ cell, loads: own.flatMap(({ clients }) => clients) }));
  const boxes = loads.map(({ cell, loads: own }) => ({
    name: cell.scheduler,
    series: seriesOf(cell.scheduler),
    values: own.map(({ plt_ms }) => plt_ms),
    mean: cell.plt_ms.mean,
    ...(cell.published && { reference: { value: cell.published.mean_ms, title: `published mean ${cell.published.mean_ms} ms, median ${cell.published.median_ms} ms, n = ${cell.published.runs}` } }),
  }));
  const curves = loads.map(({ cell, loads: own }) => ({ name: cell.scheduler, series: seriesOf(cell.scheduler), values: own.flatMap(({ done_ms }) => done_ms), emphasized: isOurs(cell.scheduler) }));
  const bound = group.cells[0]?.lower_bound_ms ?? 0;
  return element(
    'div',
    { class: 'details', 'data-setting': groupId(group), hidden: shown ? undefined : 'hidden' },
    element('h3', {}, escapeText(`${group.page}, ${group.tree}, ${group.level}`)),
    element('div', { class: 'pair' }, figure('Page load time (ms)', 'Box: quartiles and median; dot: mean, also at the right; hollow diamond: published mean.', boxPlot(boxes, { value: bound, title: 'bound' })), figure('Object completion time', 'Share of the objects of all runs that are complete.', legend(group.cells) + cdfChart(curves, 'milliseconds'))),
    figuresTable(group.cells, parameters.clients),
    ...(page ? [waterfalls(page, measured)] : []),
  );
}

const figure = (title: string, note: string, content: string): string => element('figure', {}, element('figcaption', {}, element('strong', {}, title), ' ', element('span', {}, note)), content);

const legend = (cells: readonly PagesCell[]): string => element('p', { class: 'legend' }, ...cells.map(({ scheduler }) => element('span', { class: seriesOf(scheduler) }, escapeText(labelOf(scheduler)))));

function figuresTable(cells: readonly PagesCell[], clients: number): string {
  const columns = ['scheduler', 'page load', '95 % interval', 'median', 'p95', '× bound', 'critical set', 'object mean', 'object p95', 'byte index', 'lost', ...(clients > 1 ? ['fairness'] : []), 'published'];
  const rows = cells.map((cell) => {
    const { plt_ms, critical_ms, object_ms, byte_index_ms } = cell;
    const values = [
      plt_ms.mean.toFixed(1),
      plt_ms.ci95 ? `${plt_ms.ci95[0].toFixed(0)} to ${plt_ms.ci95[1].toFixed(0)}` : '',
      plt_ms.median.toFixed(1),
      plt_ms.p95.toFixed(1),
      cell.over_bound.toFixed(2),
      critical_ms.mean.toFixed(1),
      object_ms.mean.toFixed(1),
      object_ms.p95.toFixed(1),
      byte_index_ms.mean.toFixed(1),
      `${cell.lost_percent} %`,
      ...(clients > 1 ? [cell.fairness?.toFixed(3) ?? ''] : []),
      cell.published ? String(cell.published.mean_ms) : '',
    ];
    return element('tr', { class: isOurs(cell.scheduler) ? 'ours' : undefined }, element('th', { scope: 'row', class: seriesOf(cell.scheduler) }, escapeText(labelOf(cell.scheduler))), ...values.map((value) => element('td', {}, escapeText(value))));
  });
  return element('div', { class: 'scroll' }, element('table', { class: 'figures' }, element('thead', {}, element('tr', {}, ...columns.map((title) => element('th', {}, title)))), element('tbody', {}, ...rows)));
}

function waterfalls(page: Page, measured: readonly { cell: PagesCell; runs: readonly Run[] }[]): string {
  const chosen = measured.flatMap(({ cell, runs }) => {
    const load = medianLoad(runs);
    return load ? [{ cell, ...load }] : [];
  });
  const end = Math.max(...chosen.map(({ load }) => load.plt_ms));
  const charts = chosen.map(({ cell, seed, load }) => {
    const critical = Math.max(...page.resources.flatMap((resource, index) => (resource.critical ? [load.done_ms[index] ?? 0] : [])));
    const caption = element('figcaption', {}, element('strong', {}, escapeText(labelOf(cell.scheduler))), ' ', element('span', {}, `${load.plt_ms.toFixed(0)} ms, seed ${seed}`));
    return element('figure', { class: isOurs(cell.scheduler) ? 'ours' : undefined }, caption, waterfall(page.resources, load, end, critical));
  });
  const kinds = [...new Set(page.resources.map((resource) => resource.class))];
  const key = element('p', { class: 'legend' }, ...kinds.map((kind) => element('span', { class: `kind-${kind}` }, kind)), element('span', { class: 'critical' }, 'critical set complete'));
  return element('div', { class: 'waterfalls' }, element('h4', {}, 'Waterfalls of the median runs'), key, element('div', { class: 'grid-of-charts' }, ...charts));
}

/** The load whose time is the (lower) median of all. */
function medianLoad(runs: readonly Run[]): { seed: number; load: Run['clients'][number] } | undefined {
  const loads = runs.flatMap(({ seed, clients }) => clients.map((load) => ({ seed, load }))).sort((a, b) => a.load.plt_ms - b.load.plt_ms);
  return loads[Math.floor((loads.length - 1) / 2)];
}
