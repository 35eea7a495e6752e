/** Entry of the page of several servers, which loads a picture in pieces and shows who sent them */
import type { PathReport, ResponseReport } from '../../protocol/index.js';
import { find, write } from '../elements.js';
import { formatBytes, formatNumber } from '../live/format.js';
import { PathChart } from '../live/path_charts.js';
import { PathHistory, type PathSeries } from '../live/path_history.js';
import { control, type BackendAction, type DemoBackend } from './demo_control.js';
import { Ways, type Delivery } from './delivery.js';
import { Happenings } from './happenings.js';
import { Mosaic } from './mosaic.js';
import { PictureLoader, type PieceEvents, type Pictures } from './picture_loader.js';
import { followReports } from './reports.js';
import { Rates } from './rates.js';
import { ServerCard } from './server_card.js';
import { markOf, nameOf, nameServer, placeOf } from './server_marks.js';
import { sentParts, Tally, type Server } from './tally.js';

const DIRECT = '/pieces/';
const PROXIED = '/proxied/';
/**
 * Pieces requested at the same time over HTTP/1.1. Browsers open six connections to a host; two are left for reports.
 */
const PARALLEL_HTTP1 = 4;
const PARALLEL = 8;

const tally = new Tally();
const history = new PathHistory();
const happenings = new Happenings(find('happenings'));
const cards = new Map<Server, ServerCard>();
const backends = new Map<number, DemoBackend>();
/** Place of the piece that a response brings */
const placeOfResponse = new Map<number, number>();
/** How the response travels that brings a piece */
const deliveries = new Map<number, Delivery>();
const ways = new Ways();
const rates = new Rates();
/** Whether no edge reports what servers send. Then the heads of responses alone tell it. */
let edgeless = false;
const counts = { verified: 0, damaged: 0, failed: 0, longestWaitMs: 0 };

const serverOfPath = ({ report: { backend } }: PathSeries): Server => backend ?? 'gateway';

/** Returns the current path to the server, or its latest one. */
function pathTo(server: Server): PathSeries | undefined {
  const series = history.series().filter((each) => serverOfPath(each) === server);
  return series.find(({ gone }) => !gone) ?? series.at(-1);
}

function setState(state: 'open' | 'lost', text: string): void {
  find<HTMLElement>('state').dataset['state'] = state;
  write('state', text);
}

async function act(name: string, action: BackendAction): Promise<void> {
  const number = [...backends.values()].find((backend) => backend.name === name)?.number;
  try {
    await control(name, action);
    happenings.tell(
      {
        kill: `You killed the process of ${name}.`,
        drain: `You drain ${name}.`,
        resume: `You use ${name} again.`,
        start: `You started ${name} again.`,
      }[action],
      number,
    );
  } catch (error) {
    happenings.tell(
      `${name} could not be reached by the demo: ${error instanceof Error ? error.message : String(error)}`,
      number,
    );
  }
}

/** Returns the backends in the order of their numbers, then the gateway. */
function knownServers(): Server[] {
  const numbers = [...backends.keys(), ...history.series().map(serverOfPath)].filter((server) => server !== 'gateway');
  return [...[...new Set(numbers)].sort((left, right) => left - right), 'gateway'];
}

function showCards(): void {
  const servers = knownServers();
  for (const server of servers) {
    if (!cards.has(server)) cards.set(server, new ServerCard(server, act));
    const share = tally.shareOf(server);
    const path = pathTo(server);
    const rate = path === undefined || path.gone ? 0 : (path.samples.at(-1)?.rate ?? 0);
    cards.get(server)!.show({
      share,
      path,
      rate: edgeless ? rates.of(server) : rate,
      ways: ways.textOf(nameOf(server)),
      backend: server === 'gateway' ? undefined : backends.get(server),
    });
  }
  const wanted = servers.map((server) => cards.get(server)!.element);
  const shown = find('servers');
  if (wanted.some((element, index) => shown.children[index] !== element)) shown.replaceChildren(...wanted);
}

function showCounts(): void {
  write('verified', String(counts.verified));
  write('verified-detail', 'by their SHA-256');
  write('lost', String(counts.damaged + counts.failed));
  write('lost-detail', `${counts.damaged} damaged, ${counts.failed} failed`);
  write('continued', edgeless ? '–' : String(tally.continued));
  write('wait', formatNumber(counts.longestWaitMs));
}

function onResponses(mosaic: Mosaic, reports: readonly ResponseReport[]): void {
  const ended = new Set(tally.take(reports));
  for (const report of reports) {
    const place = placeOfResponse.get(report.id);
    if (place === undefined) continue;
    mosaic.showSenders(place, sentParts(report));
    if (!ended.has(report)) continue;
    placeOfResponse.delete(report.id);
    if (report.parts.length > 1) happenings.continued(place, report);
  }
  showCards();
  showCounts();
}

function onPaths(chart: PathChart, reports: readonly PathReport[]): void {
  const now = performance.now();
  history.add(reports, now);
  const series = history.series();
  chart.draw(
    series.map((each) => ({ ...each, place: placeOf(serverOfPath(each)) })),
    now,
  );
  const servers = knownServers();
  find('legend').replaceChildren(...servers.map(legendItem));
  for (const server of servers) happenings.pathOf(server, pathTo(server));
  setState(
    'open',
    `The edge has ${reports.length} ${reports.length === 1 ? 'path' : 'paths'}, each to a server of its own`,
  );
}

/** Tells of a page that came from the gateway itself. */
function withoutEdge(): void {
  edgeless = true;
  find<HTMLElement>('paths').hidden = true;
  write(
    'lead',
    'Each piece of this picture is a request to the gateway. Where it may, a backend answers from the address of the gateway, past it. Kill a backend and watch.',
  );
  write('source', 'Which server sent what, and how, comes from the heads of the responses.');
  setState('open', 'This browser has one connection, to the gateway');
}

/** Returns the server of a name, or the gateway while the name is unknown. */
const serverOfName = (name: string): Server =>
  [...backends.values()].find((backend) => backend.name === name)?.number ?? 'gateway';

function onVerified(mosaic: Mosaic, place: number, bytes: number): void {
  const delivery = deliveries.get(place);
  if (!delivery) return;
  ways.add(delivery);
  if (!edgeless) return;
  const server = serverOfName(delivery.backend);
  tally.complete(server, bytes);
  mosaic.showSenders(place, [{ bytes, ...(server === 'gateway' ? {} : { backend: server }) }]);
}

function legendItem(server: Server): HTMLLIElement {
  const item = document.createElement('li');
  item.className = `mark ${markOf(server)}`;
  item.textContent = nameOf(server);
  return item;
}

function onBackends(reports: readonly DemoBackend[]): void {
  if (backends.size === 0)
    happenings.tell(`${reports.length} backends serve pieces, each as a process of its own. Kill one, or drain it.`);
  for (const backend of reports) {
    nameServer(backend.number, backend.name);
    backends.set(backend.number, backend);
    happenings.backend(backend);
    rates.add(backend.number, tally.shareOf(backend.number).bytes, performance.now());
  }
  if (edgeless) showCards();
}

function pieceEvents(mosaic: Mosaic): PieceEvents {
  return {
    requested(place) {
      mosaic.forgetSenders(place);
      mosaic.setState(place, 'requested');
    },
    responded(place, id, delivery) {
      if (delivery) deliveries.set(place, delivery);
      else deliveries.delete(place);
      if (id === undefined) return;
      tally.expect(id);
      placeOfResponse.set(id, place);
    },
    received: (place, share) => mosaic.setProgress(place, share),
    verified(place, piece, bytes) {
      counts.verified += 1;
      onVerified(mosaic, place, bytes);
      showCounts();
      mosaic.draw(place, piece);
    },
    failed(place, reason) {
      counts.failed += 1;
      showCounts();
      mosaic.setState(place, 'failed');
      happenings.tell(`Piece ${place + 1} failed (${reason}) and is requested again.`);
    },
    damaged(place) {
      counts.damaged += 1;
      showCounts();
      mosaic.setState(place, 'failed');
    },
    waited(milliseconds) {
      counts.longestWaitMs = Math.max(counts.longestWaitMs, milliseconds);
    },
  };
}

function offerControls(loader: PictureLoader): void {
  const pause = find<HTMLButtonElement>('pause');
  pause.addEventListener('click', () => {
    loader.paused = !loader.paused;
    pause.textContent = loader.paused ? 'Go on' : 'Pause';
    pause.setAttribute('aria-pressed', String(loader.paused));
  });
  const proxied = find<HTMLInputElement>('proxied');
  const choose = (): void => void (loader.prefix = proxied.checked ? PROXIED : DIRECT);
  proxied.addEventListener('change', choose);
  choose();
  const senders = find<HTMLInputElement>('senders');
  const showSenders = (): void => void find('picture').classList.toggle('plain', !senders.checked);
  senders.addEventListener('change', showSenders);
  showSenders();
}

function parallelRequests(): number {
  const [page] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return page?.nextHopProtocol === 'http/1.1' ? PARALLEL_HTTP1 : PARALLEL;
}

const pictures = (await (await fetch('/pictures.json')).json()) as Pictures;
const { columns, rows, edge } = pictures;
const mosaic = new Mosaic(find('canvas'), find('pieces'), pictures);
write('about', `${columns * rows} pieces, ${formatBytes(edge * edge * 3)} each`);
const loader = new PictureLoader(pictures, parallelRequests(), pieceEvents(mosaic));
offerControls(loader);
void loader.run();
const chart = new PathChart(find('rates'), ({ rate }) => rate);
await followReports({
  responses: (reports) => onResponses(mosaic, reports),
  paths: (reports) => onPaths(chart, reports),
  backends: onBackends,
  untold: withoutEdge,
  unreachable: () => setState('lost', 'Nobody answers'),
});
