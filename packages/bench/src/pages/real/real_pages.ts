import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { browserDirectory } from '@sheaf/web-client';
import type { StyleName } from '@sheaf/web-client/priority';
import { SitePaths } from '../table/site_path.js';
import type { LevelName } from '../simulation/network.js';
import { readPage, type Page, type PageName } from '../simulation/page.js';
import { ProgressBar } from '../../measure/progress_bar.js';
import { cellName } from '../simulation/run_record.js';
import { RunStore } from '../../measure/run_store.js';
import { shuffled } from '../../measure/shuffled.js';
import { summarizeBrowserCell, type BrowserCell } from './browser_cell.js';
import { browserRunSchema, type BrowserCellKey, type BrowserRun } from './browser_run.js';
import { Laboratory } from './laboratory.js';
import { loadPatiently } from './load_patiently.js';
import type { BrowserName } from './page_browser.js';
import type { VisitedResource } from './page_visit.js';

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
  /** How to begin anew, and how to go on after a failure, for people */
  hints: { anew: string; goOn: string };
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

/**
 * Measures page loads in a real browser, over links in real time. Every round loads each cell once, in an order drawn
 * by the seed, so that a disturbance of the machine affects all cells. @throws UserError
 */
export async function measureBrowserPages(
  options: BrowserPagesOptions,
  progress: (line: string) => void,
): Promise<MeasuredBrowserPages> {
  const { browser, matrix, runs, seed, stop } = options;
  const pages = await Promise.all(matrix.pages.map(readPage));
  const keys = keysOf(matrix);
  const laboratory = await Laboratory.open(browser);
  const { browserVersion } = laboratory;
  const wanted = Array.from({ length: runs }, (_, round) =>
    shuffled(keys, seed + round).map((key) => ({ key, seed: seed + round })),
  ).flat();
  const isWanted = (run: BrowserRun): boolean => run.seed < seed + runs;
  let kept: Map<string, BrowserRun[]>;
  try {
    const store = await openStore(options, browserVersion);
    const remaining = wanted.filter(
      ({ key, seed: own }) => !store.cells.get(cellName(key))?.some((run) => run.seed === own),
    );
    progress(
      `${keys.length} cells, ${runs} rounds; ${wanted.length - remaining.length} of ${wanted.length} page loads are there already; they are kept in ${options.file}`,
    );
    const bar = new ProgressBar(remaining.length, 'page loads', progress);
    for (const { key, seed: own } of remaining) {
      if (stop.aborted) break;
      const page = pages.find(({ name }) => name === key.page)!;
      await store.add(cellName(key), [await loadCell(laboratory, { key, page, seed: own }, options.hints, progress)]);
      bar.step(cellName(key));
    }
    // The file may have more rounds than are wanted now.
    kept = new Map(keys.map((key) => [cellName(key), store.cells.get(cellName(key))?.filter(isWanted) ?? []]));
  } finally {
    await laboratory.close();
  }
  const cells = keys.flatMap((key) => {
    const page = pages.find(({ name }) => name === key.page);
    const own = kept.get(cellName(key)) ?? [];
    return page && own.length > 0 ? [summarizeBrowserCell(key, page, own)] : [];
  });
  return {
    browser: browserVersion,
    pages,
    keys,
    cells,
    runs: kept,
    missing: wanted.length - [...kept.values()].flat().length,
  };
}

async function loadCell(
  laboratory: Laboratory,
  { key: { page: name, tree, level, scheduler }, page, seed }: { key: BrowserCellKey; page: Page; seed: number },
  { goOn }: BrowserPagesOptions['hints'],
  progress: (line: string) => void,
): Promise<BrowserRun> {
  const visited = {
    page: `/${name}/index.html?sheaf-style=${tree}`,
    resources: resourcesOf(page),
    level,
    scheduler,
    seed,
  };
  const load = `${name} with ${scheduler}`;
  const hint = `what is measured is kept; ${goOn}`;
  const run = await loadPatiently(() => laboratory.visit(visited), { name: load, hint, progress });
  if (run.censored !== undefined) progress(`${load} did not end: ${run.censored}`);
  return run;
}

/**
 * Opens the file of runs. Its first line has the version of the browser, since loads of several versions make no sample.
 * @throws UserError when the file has runs of another version, seed or program
 */
async function openStore(
  { seed, file, resume, hints }: BrowserPagesOptions,
  browserVersion: string,
): Promise<RunStore<BrowserRun>> {
  const settings = { browser: browserVersion, seed, program: await programDigest() };
  try {
    return await RunStore.open(file, settings, { run: browserRunSchema, resume });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError('BENCH_FAILED', error.message, { hint: hints.anew, cause: error });
  }
}

/** Returns the page's resources with the paths at which the gateway serves them. */
function resourcesOf({ name, resources }: Page): VisitedResource[] {
  const paths = new SitePaths();
  return resources.map((resource) => ({
    path: posix.join('/', name, paths.take(resource)),
    critical: resource.critical,
  }));
}

function keysOf({ pages, trees, levels, schedulers }: BrowserMatrix): BrowserCellKey[] {
  return pages.flatMap((page) =>
    trees.flatMap((tree) =>
      levels.flatMap((level) => schedulers.map((scheduler) => ({ page, tree, level, scheduler }))),
    ),
  );
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
