import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { buildNativeBench } from '../../process/cmake.js';
import { parseJsonLines } from '../../process/json_lines.js';
import { runProgram } from '../../process/run_program.js';
import { summarizeCell, type PagesCell } from './cell.js';
import { networkAt, type LevelName } from './network.js';
import { readPage, type Page, type PageName } from './page.js';
import { describeSetting } from './page_setting.js';
import { priorityTree, type TreeName } from './priority_trees.js';
import { runParts } from '../../measure/run_parts.js';
import { cellName, runSchema, type CellKey, type Run } from './run_record.js';
import { RunStore } from '../../measure/run_store.js';
import { schedulerNamed, type SchedulerChoice } from './schedulers.js';

export interface Matrix {
  pages: readonly PageName[];
  trees: readonly TreeName[];
  levels: readonly LevelName[];
  schedulers: readonly string[];
}

export interface SimulationParameters {
  runs: number;
  /** Seed of the first run of every cell; each further run has the next seed */
  seed: number;
  /** Clients that load the page at the same time over the same links, each from its own server */
  clients: number;
}

export interface PagesOptions {
  matrix: Matrix;
  parameters: SimulationParameters;
  /** File that keeps runs as they finish */
  file: string;
  resume: boolean;
  /** Stops before the next cell. Unfinished cells are dropped, and finished ones are kept. */
  stop: AbortSignal;
}

export interface MeasuredPages {
  pages: Page[];
  cells: PagesCell[];
  /** Runs by the name of the cell */
  runs: Map<string, Run[]>;
  /** Cells that were not measured because the experiment was stopped */
  missing: number;
}

/** Measures page loads in virtual time. The same seed gives the same results. @throws UserError */
export async function measureSimulatedPages(
  { matrix, parameters, file, resume, stop }: PagesOptions,
  progress: (line: string) => void,
): Promise<MeasuredPages> {
  const program = await buildNativeBench('pages_bench', progress);
  const pages = await Promise.all(matrix.pages.map(readPage));
  const digest = createHash('sha256')
    .update(await readFile(program))
    .digest('hex');
  const store = await RunStore.open(file, { ...parameters, program: digest }, { run: runSchema, resume });
  const wanted = keysOf(matrix);
  const remaining = wanted.filter((key) => !store.cells.has(cellName(key)));
  progress(
    `${wanted.length} cells, ${parameters.runs} runs each with the seeds ${parameters.seed} to ${parameters.seed + parameters.runs - 1}; ${wanted.length - remaining.length} are there already; runs are kept in ${file}`,
  );
  const parts = remaining.map((key) => ({ name: cellName(key), key }));
  await runParts(store, parts, { progress, stop }, async ({ key: { page, tree, level, scheduler } }) =>
    simulatePage(
      program,
      { page: pageNamed(pages, page), tree, level, scheduler: schedulerNamed(scheduler) },
      parameters,
    ),
  );
  const cells = wanted.flatMap((key) => {
    const runs = store.cells.get(cellName(key));
    return runs ? [summarizeCell(key, pageNamed(pages, key.page), runs)] : [];
  });
  return { pages, cells, runs: store.cells, missing: wanted.length - cells.length };
}

/**
 * Returns the cells so that all schedulers of a setting follow one another. An early end then leaves complete
 * comparisons.
 */
function keysOf({ pages, trees, levels, schedulers }: Matrix): CellKey[] {
  return pages.flatMap((page) =>
    trees.flatMap((tree) =>
      levels.flatMap((level) => schedulers.map((scheduler) => ({ page, tree, level, scheduler }))),
    ),
  );
}

function pageNamed(pages: readonly Page[], name: PageName): Page {
  const found = pages.find((page) => page.name === name);
  if (!found) throw new RangeError(`no page ${name}`);
  return found;
}

/** Simulates all runs of one cell. @throws UserError */
export async function simulatePage(
  program: string,
  { page, tree, level, scheduler }: { page: Page; tree: TreeName; level: LevelName; scheduler: SchedulerChoice },
  { seed, runs, clients }: SimulationParameters,
): Promise<Run[]> {
  const input = describeSetting({
    page,
    tree: priorityTree(tree, page.resources),
    network: networkAt(level),
    scheduler,
  });
  return parseJsonLines(await runProgram(program, [seed, runs, clients].map(String), { input }), runSchema);
}
