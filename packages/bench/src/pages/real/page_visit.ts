import { UserError } from '@sheaf/gateway';
import type { Browser, Page } from 'playwright-core';
import type { BrowserRun } from './browser_run.js';

const PATIENCE_MS = 120_000;
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

/** Loads a page by the page loader, in a new browser context. @throws UserError when a resource came another way */
export async function visitPage(browser: Browser, visit: Visit): Promise<VisitTimes> {
  const { origin, warmPage, warmFiles } = visit;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(PATIENCE_MS);
  try {
    const page = await context.newPage();
    await page.goto(`${origin}/.well-known/sheaf/start?to=${encodeURIComponent(warmPage)}`);
    await page.waitForURL(origin + warmPage);
    await page.evaluate(
      `Promise.all(${JSON.stringify(warmFiles)}.map((file) => fetch(file).then((answer) => answer.arrayBuffer())))`,
    );
    await visit.ready();
    await page.goto(origin + visit.page, { waitUntil: 'load' });
    await page.waitForSelector('html[data-complete]', { state: 'attached' });
    await page.waitForTimeout(SETTLE_MS);
    await mustHaveComeBySession(page);
    return inOrder(visit, await page.evaluate<PageTimes>(TIMES));
  } finally {
    await context.close();
  }
}

/** Times of the page's timeline */
interface PageTimes {
  fcp_ms: number;
  lcp_ms: number;
  lcp_element: string;
  load_ms: number;
  entries: { url: string; requested: number; first: number; done: number }[];
}

const TIMES = `(async () => {
  const paints = await new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries())).observe({ type: 'largest-contentful-paint', buffered: true });
    setTimeout(() => resolve([]), 30000);
  });
  const largest = paints.at(-1);
  const entries = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  return {
    fcp_ms: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    lcp_ms: largest?.startTime ?? 0,
    lcp_element: largest ? largest.url || largest.element?.localName || 'removed' : '',
    load_ms: performance.getEntriesByType('navigation')[0].loadEventStart,
    entries: entries.map(({ name, startTime, responseStart, responseEnd }) => ({ url: name, requested: startTime, first: responseStart, done: responseEnd })),
  };
})()`;

function inOrder(
  { origin, resources }: Visit,
  { fcp_ms, lcp_ms, lcp_element, load_ms, entries }: PageTimes,
): VisitTimes {
  if (lcp_ms === 0 || load_ms === 0)
    throw new UserError('BENCH_FAILED', 'the browser has not told when the page was painted and loaded');
  const byPath = new Map(entries.map((entry) => [decodeURI(new URL(entry.url).pathname), entry]));
  const found = resources.map((path) => byPath.get(path));
  const { origin: own } = new URL(origin);
  return {
    fcp_ms,
    lcp_ms,
    lcp_element: lcp_element.startsWith(own) ? lcp_element.slice(own.length) : lcp_element,
    load_ms,
    requested_ms: found.map((entry) => entry?.requested ?? null),
    first_ms: found.map((entry) => entry?.first ?? null),
    done_ms: found.map((entry) => entry?.done ?? null),
  };
}

/** The part of the page loader's response that is read */
interface LoaderStatus {
  loads: { url: string; transport: string; state: string }[];
}

/** Checks that no load fell back to the network, since such a load measures something else. */
async function mustHaveComeBySession(page: Page): Promise<void> {
  const { loads } = await page.evaluate<LoaderStatus>(STATUS);
  const wrong = loads.find(({ transport, state }) => transport !== 'webtransport' || state === 'failed');
  if (loads.length === 0) throw new UserError('BENCH_FAILED', 'the page loader was not asked for anything');
  if (wrong) throw new UserError('BENCH_FAILED', `${wrong.url} came by ${wrong.transport}, ${wrong.state}`);
}

const STATUS = `new Promise((resolve, reject) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = (event) => resolve(event.data);
  const { controller } = navigator.serviceWorker;
  if (controller) controller.postMessage({ type: 'status' }, [port2]);
  else reject(new Error('no page loader'));
})`;
