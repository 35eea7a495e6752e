import { WELL_KNOWN, parsePathReports, type PathReport } from '../../protocol/index.js';
import { formatShare } from './format.js';
import { PathChart, pathClass } from './path_charts.js';
import { nameOf, pathCells, tableRow, type Cell } from './path_cells.js';
import { PathHistory, type PathSeries } from './path_history.js';

const INTERVAL_MS = 1_000;

/** Elements of the page that show paths */
export interface PathElements {
  readonly section: HTMLElement;
  readonly legend: HTMLElement;
  readonly rateChart: SVGSVGElement;
  readonly roundTripChart: SVGSVGElement;
  readonly rows: HTMLElement;
}

/**
 * Charts the paths of the edge that this page came through, to the gateway and to backends, as long as the page is
 * open. The section stays hidden if there is no edge, or the edge does not show its paths.
 */
export async function showPaths(elements: PathElements): Promise<void> {
  const history = new PathHistory();
  const rates = new PathChart(elements.rateChart, ({ rate }) => rate);
  const roundTrips = new PathChart(elements.roundTripChart, ({ roundTripMs }) => roundTripMs, true);
  for (;;) {
    const answer = await fetchPaths().catch(() => 'unreachable' as const);
    if (answer === 'not shown') return;
    const now = performance.now();
    history.add(answer === 'unreachable' ? [] : answer, now);
    const series = history.series();
    // Makes the section visible first, since a hidden chart has no size to be drawn in.
    elements.section.hidden &&= series.length === 0;
    rates.draw(series, now);
    roundTrips.draw(series, now);
    elements.legend.replaceChildren(...series.map(legendItem));
    elements.rows.replaceChildren(...series.map(row));
    await nextTurn();
  }
}

async function fetchPaths(): Promise<PathReport[] | 'not shown'> {
  const response = await fetch(WELL_KNOWN.paths, { cache: 'no-store' });
  if (response.status === 404) return 'not shown';
  if (!response.ok) throw new Error(`paths: status ${response.status}`);
  return parsePathReports(await response.json());
}

/** Waits for the next turn. A page in the background requests nothing. */
async function nextTurn(): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  while (document.hidden);
}

const serverOf = ({ report: { backend } }: PathSeries): string =>
  backend === undefined ? 'gateway' : `backend ${backend}`;

/** Shows the used part of the granted credit. */
const leaseOf = ({ gone, report: { lease } }: PathSeries): string =>
  gone || lease === undefined ? '–' : formatShare(lease.used, lease.granted);

function legendItem(series: PathSeries): HTMLLIElement {
  const item = document.createElement('li');
  item.className = pathClass(series.place);
  item.textContent = `${serverOf(series)}: ${nameOf(series)}`;
  return item;
}

const row = (series: PathSeries): HTMLTableRowElement => {
  const [path, state, ...traffic] = pathCells(series);
  const server: Cell = ['Server', serverOf(series), ''];
  return tableRow([path, server, state, ['Lease', leaseOf(series), 'number'], ...traffic]);
};
