import type { Load } from '../../service_worker/load_log.js';
import { LOADS_CHANNEL } from '../../service_worker/messages.js';
import { ask } from '../start/start_page_loader.js';
import { formatBytes, formatNumber } from './format.js';

/** One line of the table. Times are milliseconds since the request began. */
interface Row {
  readonly path: string;
  readonly carriedBy: string;
  readonly status: number;
  readonly bytes: number;
  readonly firstByte: number | undefined;
  readonly complete: number | undefined;
  readonly failed: boolean;
}

const SHOWN = 40;

/** Lists what the page loader has fetched; without a page loader, what the browser has. */
export async function showLoads(body: HTMLElement, summary: HTMLElement): Promise<void> {
  const { controller } = navigator.serviceWorker ?? {};
  if (controller === null || controller === undefined) {
    const rows = browserRows();
    render(body, rows);
    summary.textContent = `The browser loaded ${rows.length} resources itself, without the page loader.`;
    return;
  }
  const loads = new Map<number, Load>();
  const update = (): void => {
    const rows = [...loads.values()].slice(-SHOWN).reverse().map(workerRow);
    render(body, rows);
    summary.textContent = `The page loader's last ${rows.length} requests, newest first. It keeps one session for all pages of this site.`;
  };
  const channel = new BroadcastChannel(LOADS_CHANNEL);
  channel.onmessage = (event): void => {
    const load = event.data as Load;
    loads.set(load.id, load);
    update();
  };
  for (const load of (await ask(controller, { type: 'status' })).loads) loads.set(load.id, load);
  update();
}

function workerRow(load: Load): Row {
  const since = (time: number | undefined): number | undefined =>
    time === undefined ? undefined : time - load.startedAt;
  return {
    path: new URL(load.url).pathname,
    carriedBy: load.transport === 'webtransport' ? 'WebTransport' : load.transport,
    status: load.status,
    bytes: load.bytes,
    firstByte: since(load.headAt),
    complete: since(load.endedAt),
    failed: load.state === 'failed',
  };
}

function browserRows(): Row[] {
  const protocols: Record<string, string> = { h3: 'HTTP/3', h2: 'HTTP/2', 'http/1.1': 'HTTP/1.1' };
  const entries = [
    ...performance.getEntriesByType('navigation'),
    ...performance.getEntriesByType('resource'),
  ] as PerformanceResourceTiming[];
  return entries.slice(0, SHOWN).map((entry) => ({
    path: new URL(entry.name).pathname,
    carriedBy: protocols[entry.nextHopProtocol] ?? 'cache',
    status: entry.responseStatus,
    bytes: entry.encodedBodySize,
    firstByte: entry.responseStart - entry.startTime,
    complete: entry.responseEnd - entry.startTime,
    failed: false,
  }));
}

function render(body: HTMLElement, rows: readonly Row[]): void {
  body.replaceChildren(...rows.map(toElement));
}

function toElement(row: Row): HTMLTableRowElement {
  const line = document.createElement('tr');
  const time = (value: number | undefined): string => (value === undefined ? '…' : `${formatNumber(value)} ms`);
  const cells: [string, string][] = [
    [row.path, 'path'],
    [row.carriedBy, ''],
    [row.failed ? 'failed' : row.status === 0 ? '…' : String(row.status), 'number'],
    [row.bytes === 0 ? '–' : formatBytes(row.bytes), 'number'],
    [time(row.firstByte), 'number'],
    [time(row.complete), 'number'],
  ];
  for (const [content, className] of cells) {
    const cell = line.insertCell();
    cell.textContent = content;
    cell.className = className;
  }
  return line;
}
