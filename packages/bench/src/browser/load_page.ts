import { createHash, randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { launchChromium } from './chromium.js';
import type { Transport, TransportName } from './transports.js';

/** One resource as the page saw it. Times are milliseconds since navigation. */
export interface Arrival {
  readonly path: string;
  readonly carriedBy: string;
  readonly bytes: number;
  readonly from: number;
  readonly to: number;
}

export interface Transfer {
  readonly bytes: number;
  readonly sha256: string;
  readonly ms: number;
}

/** Result of loading the demo page over one transport */
export interface PageLoad {
  readonly transport: TransportName;
  readonly ok: boolean;
  /** Reasons of a failure; empty when `ok` */
  readonly problems: readonly string[];
  /** Number of resources that each protocol carried */
  readonly protocols: Readonly<Record<string, number>>;
  readonly resources: readonly Arrival[];
  readonly bytes: number;
  /** Time from navigation to the load event, in milliseconds */
  readonly loadMs: number;
  readonly firstContentfulPaintMs: number;
  readonly download: Transfer | undefined;
  readonly upload: Transfer | undefined;
  readonly screenshot: string;
}

/** Content of `window.demo` on the demo page */
interface DemoState {
  readonly scripts: readonly string[];
  readonly errors: readonly string[];
  readonly arrivals: readonly Arrival[];
}

const READY_MS = 30_000;
// Size of the file that fixtures/demo/build.mjs makes
const DOWNLOAD_BYTES = 5 * 1024 * 1024;
const UPLOAD_BYTES = 1_000_000;

/** Loads the demo page in a fresh browser, then transfers a file in each direction. */
export async function loadPage(transport: Transport, screenshot: string): Promise<PageLoad> {
  const browser = await launchChromium(transport.switches);
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    if (transport.initScript !== undefined) await context.addInitScript(transport.initScript);
    const page = await context.newPage();
    const load = await measure(page, transport);
    await page.screenshot({ path: screenshot, fullPage: true });
    return { ...load, screenshot };
  } finally {
    await browser.close();
  }
}

async function measure(page: Page, transport: Transport): Promise<Omit<PageLoad, 'screenshot'>> {
  const problems: string[] = [];
  await page.goto(transport.url);
  await page.waitForURL(new URL('/', transport.url).href, { timeout: READY_MS });
  await page.waitForSelector('html[data-ready]', { timeout: READY_MS });
  const { scripts, errors, arrivals } = await page.evaluate<DemoState>('window.demo');
  const wrong = arrivals.filter(({ carriedBy }) => !transport.carriers.includes(carriedBy));
  problems.push(...errors, ...wrong.map(({ path, carriedBy }) => `${path} came by ${carriedBy}`));
  for (const kind of ['classic', 'async', 'module']) {
    if (!scripts.includes(kind)) problems.push(`the ${kind} script did not run`);
  }
  const download = await attempt(problems, 'download', () => downloadFile(page));
  const upload = await attempt(problems, 'upload', () => uploadFile(page));
  return {
    transport: transport.name,
    ok: problems.length === 0,
    problems,
    protocols: countBy(arrivals.map(({ carriedBy }) => carriedBy)),
    resources: arrivals,
    bytes: arrivals.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(await page.evaluate<{ loadMs: number; firstContentfulPaintMs: number }>(TIMES)),
    download,
    upload,
  };
}

const TIMES = `({
  loadMs: performance.getEntriesByType('navigation')[0].loadEventEnd,
  firstContentfulPaintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
})`;

async function downloadFile(page: Page): Promise<Transfer> {
  const start = performance.now();
  await page.click('#download');
  const text = await outcome(page, '#download-result');
  return { bytes: DOWNLOAD_BYTES, sha256: hashIn(text), ms: performance.now() - start };
}

async function uploadFile(page: Page): Promise<Transfer> {
  const buffer = randomBytes(UPLOAD_BYTES);
  await page.setInputFiles('#file', { name: 'file.bin', mimeType: 'application/octet-stream', buffer });
  const start = performance.now();
  await page.click('#upload button');
  const sha256 = hashIn(await outcome(page, '#upload-result'));
  const ms = performance.now() - start;
  const sent = createHash('sha256').update(buffer).digest('hex');
  if (sha256 !== sent) throw new Error(`${sha256} arrived instead of ${sent}`);
  return { bytes: UPLOAD_BYTES, sha256, ms };
}

/** Waits until an output element has text, and returns it. */
async function outcome(page: Page, selector: string): Promise<string> {
  const output = page.locator(selector);
  await output.filter({ hasText: /\S/ }).waitFor({ timeout: READY_MS });
  return (await output.textContent()) ?? '';
}

function hashIn(text: string): string {
  const hash = /\b[0-9a-f]{64}\b/.exec(text)?.[0];
  if (hash === undefined) throw new Error(text);
  return hash;
}

async function attempt<Value>(
  problems: string[],
  what: string,
  action: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await action();
  } catch (error) {
    problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
