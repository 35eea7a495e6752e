import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '@sheaf/gateway';
import type { BrowserRun } from './browser_run.js';
import type { PageBrowser, Tab } from './page_browser.js';

/** Time in milliseconds for paint timings, which are reported with the next frames */
const SETTLE_MS = 200;

export interface Visit {
  /** Origin of the edge, without TLS on `localhost` */
  origin: string;
  /** Page that is loaded first, so that the connection is warm */
  warmPage: string;
  warmFiles: readonly string[];
  /** Runs before the page is opened. */
  ready: () => Promise<void>;
  /** Path of the page, with its style */
  page: string;
  /** Paths of its resources, in order. The first is the page itself, without query. */
  resources: readonly string[];
}

export type VisitTimes = Omit<BrowserRun, 'seed' | 'rates_mbps' | 'machine_load' | 'links'>;

/** Loads a page by the page loader, in a new profile. @throws UserError when a resource came another way */
export async function visitPage(browser: PageBrowser, visit: Visit): Promise<VisitTimes> {
  const { origin, warmPage, warmFiles } = visit;
  const tab = await browser.open();
  try {
    await tab.go(`${origin}/.well-known/sheaf/start?to=${encodeURIComponent(warmPage)}`);
    await tab.arrive(origin + warmPage);
    await tab.evaluate(
      `Promise.all(${JSON.stringify(warmFiles)}.map((file) => fetch(file).then((answer) => answer.arrayBuffer()))).then(() => undefined)`,
    );
    await visit.ready();
    await tab.go(origin + visit.page);
    await tab.evaluate(COMPLETE);
    await sleep(SETTLE_MS);
    const loads = await loadsBySession(tab);
    return inOrder(visit, await tab.evaluate<PageTimes>(TIMES), loads);
  } finally {
    await tab.close();
  }
}

/** Waits until the page says that everything has arrived. */
const COMPLETE = `new Promise((resolve, reject) => {
  const root = document.documentElement;
  const look = () => root.hasAttribute('data-complete') && resolve();
  new MutationObserver(look).observe(root, { attributes: true });
  look();
  setTimeout(() => reject(new Error('the page was not complete after a minute')), 60000);
})`;

/** Times of the page's timeline */
interface PageTimes {
  /** Time of the navigation, in milliseconds since 1970 */
  origin: number;
  fcp_ms: number;
  lcp_ms: number;
  lcp_element: string;
  load_ms: number;
}

const TIMES = `(async () => {
  const paints = await new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries())).observe({ type: 'largest-contentful-paint', buffered: true });
    setTimeout(() => resolve([]), 30000);
  });
  const largest = paints.at(-1);
  return {
    origin: performance.timeOrigin,
    fcp_ms: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    lcp_ms: largest?.startTime ?? 0,
    lcp_element: largest ? largest.url || largest.element?.localName || 'removed' : '',
    load_ms: performance.getEntriesByType('navigation')[0].loadEventStart,
  };
})()`;

function inOrder(
  { origin: site, resources }: Visit,
  { origin, fcp_ms, lcp_ms, lcp_element, load_ms }: PageTimes,
  loads: readonly Load[],
): VisitTimes {
  if (fcp_ms === 0 || lcp_ms === 0 || load_ms === 0)
    throw new UserError('BENCH_FAILED', 'the browser has not told when the page was painted and loaded');
  const byPath = new Map(loads.map((load) => [decodeURI(new URL(load.url).pathname), load]));
  const found = resources.map((path) => byPath.get(path));
  const sinceNavigation = (time: number | undefined): number | null => (time === undefined ? null : time - origin);
  return {
    fcp_ms,
    lcp_ms,
    lcp_element: lcp_element.startsWith(site) ? lcp_element.slice(site.length) : lcp_element,
    load_ms,
    requested_ms: found.map((load) => sinceNavigation(load?.startedAt)),
    first_ms: found.map((load) => sinceNavigation(load?.headAt)),
    done_ms: found.map((load) => sinceNavigation(load?.endedAt)),
  };
}

/** What the page loader tells of a request. Times are milliseconds since 1970. */
interface Load {
  url: string;
  transport: string;
  state: string;
  startedAt: number;
  headAt?: number;
  endedAt?: number;
}

/**
 * Returns the requests of the page loader. Resource Timing is not used, since in Firefox what a Service Worker responds
 * with ends when it begins. @throws UserError when a request fell back to the network, since that measures something
 * else
 */
async function loadsBySession(tab: Tab): Promise<Load[]> {
  const loads = await tab.evaluate<Load[]>(LOADS);
  const wrong = loads.find(({ transport, state }) => transport !== 'webtransport' || state === 'failed');
  if (loads.length === 0) throw new UserError('BENCH_FAILED', 'the page loader was not asked for anything');
  if (wrong) throw new UserError('BENCH_FAILED', `${wrong.url} came by ${wrong.transport}, ${wrong.state}`);
  return loads;
}

const LOADS = `new Promise((resolve, reject) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = (event) => resolve(event.data.loads);
  const { controller } = navigator.serviceWorker;
  if (controller) controller.postMessage({ type: 'status' }, [port2]);
  else reject(new Error('no page loader'));
})`;
