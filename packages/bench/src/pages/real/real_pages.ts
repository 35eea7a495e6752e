import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { errorMessage, UserError } from '@sheaf/gateway';
import { browserDirectory } from '@sheaf/web-client';
import type { StyleName } from '@sheaf/web-client/priority';
import { seededRandom } from '../content/random.js';
import { pageResources } from '../build/fixtures.js';
import { SitePaths } from '../table/site_path.js';
import type { LevelName } from '../simulation/network.js';
import { readPage, type Page, type PageName } from '../simulation/page.js';
import { ProgressBar } from '../../measure/progress_bar.js';
import { cellName } from '../simulation/run_record.js';
import { RunStore } from '../../measure/run_store.js';
import { summarizeBrowserCell, type BrowserCell } from './browser_cell.js';
import { browserRunSchema, type BrowserCellKey, type BrowserRun } from './browser_run.js';
import { Laboratory } from './laboratory.js';
import type { BrowserName } from './page_browser.js';

export interface BrowserMatrix {
  pages: readonly PageName[];
  trees: readonly StyleName[];
  levels: readonly LevelName[];
  schedulers: readonly string[];
}

export interface BrowserPagesOptions {
  browser: BrowserName;
  matrix: BrowserMatrix;
  runs: number;
  /** Seed of the first round; each further round has the next seed */
  seed: number;
  /** File that keeps runs as they finish. With `resume`, rounds can be added. */
  file: string;
  resume: boolean;
  /** Stops after the current page load. */
  stop: AbortSignal;
}

export interface MeasuredBrowserPages {
  /** Name and version */
  browser: string;
  pages: Page[];
  keys: BrowserCellKey[];
  cells: BrowserCell[];
  /** Runs by the name of the cell, in the order of the rounds */
  runs: Map<string, BrowserRun[]>;
  /** Page loads that were not measured because the experiment was stopped */
  missing: number;
}

/** Attempts of a page load, since browsers on busy machines sometimes fail */
const ATTEMPTS = 3;

/**
 * Measures page loads in a real browser, over links in real time. Every round loads each cell once, in an order drawn
 * by the seed, so that a disturbance of the machine affects all cells. @throws UserError
 */
export async function measureBrowserPages(
  options: BrowserPagesOptions,
  progress: (line: string) => void,
): Promise<MeasuredBrowserPages> {
  const { browser, matrix, runs, seed, file, resume, stop } = options;
  const pages = await Promise.all(matrix.pages.map(readPage));
  const keys = keysOf(matrix);
  const settings = { browser, seed, program: await programDigest() };
  const store = await RunStore.open(file, settings, { run: browserRunSchema, resume });
  const wanted = Array.from({ length: runs }, (_, round) =>
    shuffled(keys, seed + round).map((key) => ({ key, seed: seed + round })),
  ).flat();
  const remaining = wanted.filter(
    ({ key, seed: own }) => !store.cells.get(cellName(key))?.some((run) => run.seed === own),
  );
  progress(
    `${keys.length} cells, ${runs} rounds; ${wanted.length - remaining.length} of ${wanted.length} page loads are there already; they are kept in ${file}`,
  );
  const laboratory = await Laboratory.open(browser);
  const { browserVersion } = laboratory;
  let done = 0;
  try {
    const bar = new ProgressBar(remaining.length, 'page loads', progress);
    for (const { key, seed: own } of remaining) {
      if (stop.aborted) break;
      await store.add(cellName(key), [await visitWithPatience(laboratory, key, own, progress)]);
      bar.step(cellName(key));
      done += 1;
    }
  } finally {
    await laboratory.close();
  }
  // The file may have more rounds than are wanted now.
  const kept = new Map(
    keys.map((key) => [cellName(key), store.cells.get(cellName(key))?.filter((run) => run.seed < seed + runs) ?? []]),
  );
  const cells = keys.flatMap((key) => {
    const page = pages.find(({ name }) => name === key.page);
    const own = kept.get(cellName(key)) ?? [];
    return page && own.length > 0 ? [summarizeBrowserCell(key, page, own)] : [];
  });
  return { browser: browserVersion, pages, keys, cells, runs: kept, missing: remaining.length - done };
}

async function visitWithPatience(
  laboratory: Laboratory,
  { page, tree, level, scheduler }: BrowserCellKey,
  seed: number,
  progress: (line: string) => void,
): Promise<BrowserRun> {
  const resources = await sitePaths(page);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await laboratory.visit({
        page: `/${page}/index.html?sheaf-style=${tree}`,
        resources,
        level,
        scheduler,
        seed,
      });
    } catch (error) {
      if (attempt === ATTEMPTS)
        throw new UserError('BENCH_FAILED', `${page} could not be loaded: ${errorMessage(error)}`, {
          hint: 'what is measured is kept; --resume goes on',
          cause: error,
        });
      progress(`${page} with ${scheduler} is loaded again: ${errorMessage(error)}`);
    }
  }
}

/** Returns the paths at which the gateway serves the page's resources. */
async function sitePaths(page: PageName): Promise<string[]> {
  const paths = new SitePaths();
  return (await pageResources(page)).map((resource) => posix.join('/', page, paths.take(resource)));
}

function keysOf({ pages, trees, levels, schedulers }: BrowserMatrix): BrowserCellKey[] {
  return pages.flatMap((page) =>
    trees.flatMap((tree) =>
      levels.flatMap((level) => schedulers.map((scheduler) => ({ page, tree, level, scheduler }))),
    ),
  );
}

/** Shuffles (Fisher and Yates). */
function shuffled<Value>(values: readonly Value[], seed: number): Value[] {
  const random = seededRandom(`order ${seed}`);
  const order = [...values];
  for (let end = order.length - 1; end > 0; end -= 1) {
    const chosen = random() % (end + 1);
    [order[end], order[chosen]] = [order[chosen]!, order[end]!];
  }
  return order;
}

/**
 * Computes the digest of what affects times: the transport and the page loader. Runs of other versions cannot be added.
 */
async function programDigest(): Promise<string> {
  const hash = createHash('sha256');
  const transport = new URL('../build/Release/sheaf.node', import.meta.resolve('@sheaf/native'));
  for (const file of [transport, join(browserDirectory, 'page_loader', 'page-worker.js')])
    hash.update(await readFile(file));
  return hash.digest('hex');
}
