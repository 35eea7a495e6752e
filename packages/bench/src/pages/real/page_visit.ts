import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, UserError } from '@sheaf/gateway';
import type { BrowserRun } from './browser_run.js';
import type { PageBrowser, Tab } from './page_browser.js';

/** Time in milliseconds for paint timings, which are reported with the next frames */
const SETTLE_MS = 200;

/**
 * Time in milliseconds within which a page has to be complete. A load that takes longer is censored: it counts with this
 * time, so that the slowest loads of a scheduler do not vanish.
 */
export const LOAD_LIMIT_MS = 60_000;

/** Time in milliseconds between questions whether requests are complete */
const POLL_MS = 20;

export interface VisitedResource {
  path: string;
  /** Whether the page cannot be shown before it is complete */
  critical: boolean;
}

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
  /** Its resources, in order. The first is the page itself, without query. */
  resources: readonly VisitedResource[];
  /** Time in milliseconds after which the load is censored */
  limit_ms: number;
}

export type VisitTimes = Omit<BrowserRun, 'seed' | 'rates_mbps' | 'machine_load' | 'links' | 'repeats'>;

/**
 * Loads a page by the page loader, in a new context. Returns a censored load when the page is not complete within the
 * limit, or when a part of it failed or came another way. @throws UserError when that cannot be told, as without paint
 * timings
 */
export async function visitPage(browser: PageBrowser, visit: Visit): Promise<VisitTimes> {
  const tab = await browser.open();
  try {
    await warmUp(tab, visit);
    const loads = await within(visit.limit_ms, (ended) => loadPage(tab, visit, ended));
    if (typeof loads === 'string') return censored(visit, loads);
    if (!loads) return censored(visit, `the page was not complete after ${visit.limit_ms} ms`);
    const paths = new Set(visit.resources.map(({ path }) => path));
    const wrong = loads.find(isWrong);
    if (wrong && paths.has(pathOf(wrong))) return censored(visit, describe(wrong));
    if (wrong) throw new UserError('BENCH_FAILED', describe(wrong));
    await sleep(SETTLE_MS);
    return inOrder(visit, await tab.evaluate<PageTimes>(TIMES), loads);
  } finally {
    await tab.close();
  }
}

async function warmUp(tab: Tab, { origin, warmPage, warmFiles, ready, limit_ms }: Visit): Promise<void> {
  await tab.go(`${origin}/.well-known/sheaf/start?to=${encodeURIComponent(warmPage)}`);
  await tab.arrive(origin + warmPage);
  const warm = await within(limit_ms, () =>
    tab.evaluate<boolean>(
      `Promise.all(${JSON.stringify(warmFiles)}.map((file) => fetch(file).then((answer) => answer.arrayBuffer()))).then(() => true)`,
    ),
  );
  if (!warm) throw new UserError('BENCH_FAILED', `the first files did not arrive within ${limit_ms} ms`);
  await ready();
}

/** Returns the outcome of the work, or undefined after the limit in milliseconds. */
async function within<Outcome>(
  limit_ms: number,
  work: (ended: AbortSignal) => Promise<Outcome>,
): Promise<Outcome | undefined> {
  const ended = new AbortController();
  try {
    return await Promise.race([work(ended.signal), sleep(limit_ms, undefined, { signal: ended.signal })]);
  } finally {
    ended.abort();
  }
}

/**
 * Waits until the page says that everything has arrived, and the page loader that all requests are complete. Returns these
 * requests, or why there is no document.
 */
async function loadPage(tab: Tab, { origin, page }: Visit, ended: AbortSignal): Promise<Load[] | string> {
  try {
    await tab.go(origin + page);
  } catch (error) {
    return `the document did not arrive: ${errorMessage(error)}`;
  }
  await tab.evaluate(COMPLETE);
  for (;;) {
    const loads = await tab.evaluate<Load[]>(LOADS);
    if (loads.length === 0) throw new UserError('BENCH_FAILED', 'the page loader was not asked for anything');
    if (loads.every((load) => load.endedAt !== undefined || isWrong(load))) return loads;
    await sleep(POLL_MS, undefined, { signal: ended });
  }
}

const COMPLETE = `new Promise((resolve) => {
  const root = document.documentElement;
  const look = () => root.hasAttribute('data-complete') && resolve();
  new MutationObserver(look).observe(root, { attributes: true });
  look();
})`;

/** Returns a load of which nothing is known but that it takes longer than the limit. */
function censored({ resources, limit_ms }: Visit, why: string): VisitTimes {
  const unknown = resources.map(() => null);
  return {
    censored: why,
    fcp_ms: limit_ms,
    lcp_ms: limit_ms,
    lcp_element: '',
    load_ms: limit_ms,
    requested_ms: unknown,
    first_ms: unknown,
    done_ms: unknown,
  };
}

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
  const byPath = new Map(loads.map((load) => [pathOf(load), load]));
  const absent = resources.find(({ path, critical }) => critical && !byPath.has(path));
  if (absent) throw new UserError('BENCH_FAILED', `the browser has not asked for ${absent.path}, which is critical`);
  const found = resources.map(({ path }) => byPath.get(path));
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

/** Returns whether a request failed, or fell back to the network, which measures something else. */
const isWrong = ({ transport, state }: Load): boolean => transport !== 'webtransport' || state === 'failed';

const pathOf = ({ url }: Load): string => decodeURI(new URL(url).pathname);

const describe = ({ url, transport, state }: Load): string => `${url} came by ${transport}, ${state}`;

/**
 * Asks the page loader for its requests. Resource Timing is not used, since in Firefox what a Service Worker responds
 * with ends when it begins.
 */
const LOADS = `new Promise((resolve, reject) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = (event) => resolve(event.data.loads);
  const { controller } = navigator.serviceWorker;
  if (controller) controller.postMessage({ type: 'status' }, [port2]);
  else reject(new Error('no page loader'));
})`;
