import { join } from 'node:path';
import { STYLE_NAMES } from '@sheaf/web-client/priority';
import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome, ResultTable } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { untilInterrupted } from '../process/until_interrupted.js';
import { browserReport } from './real/browser_report.js';
import { browserFindings } from './real/browser_findings.js';
import { BROWSER_NAMES } from './real/page_browser.js';
import { measureBrowserPages } from './real/real_pages.js';
import { otherController, oursAgainstOthers, publishedDirections } from './simulation/findings.js';
import { ALL_LEVELS, LEVELS } from './simulation/network.js';
import { ALL_PAGES, PAGES } from './simulation/page.js';
import { ALL_TREES, TREES } from './simulation/priority_trees.js';
import type { ReportCell, ReportData } from './report/report_data.js';
import { writeReport } from './report/write_report.js';
import { findingLines, pagesTable } from './report/tables.js';
import { COMPARED_NAMES, SCHEDULER_NAMES } from './simulation/schedulers.js';
import { simulationReport } from './report/simulation_report.js';
import { measureSimulatedPages } from './simulation/simulated_pages.js';

/** Directories of the runs of an experiment without a report, in the working directory */
const DEFAULT_DIRECTORY = join('.sheaf', 'bench-pages');
const BROWSER_DIRECTORY = join('.sheaf', 'bench-pages-browser');
const STORE = 'runs.jsonl';
const MAX_CLIENTS = 64;

/** How to begin anew, and how to go on */
const HINTS = { anew: 'leave out --resume to begin anew', goOn: '--resume goes on' };

/** Default schedulers for the real browser */
const BROWSER_SCHEDULERS = ['critical-first', 'fcfs', 'rr', 'wrr', 'swrr', 'dwrr', 'sa-ecf', 'rfc9218'];

const common = {
  runs: z.coerce.number().int().min(1).default(20),
  seed: z.coerce.number().int().min(0).default(1),
  page: listOf(ALL_PAGES, PAGES),
  report: z.string().min(1).optional(),
  resume: z.boolean().default(false),
};

const simulatedSchema = z.strictObject({
  sim: z.literal(true, { error: 'give --sim (virtual time) or --browser (Chromium or Firefox)' }),
  ...common,
  level: listOf(ALL_LEVELS, LEVELS),
  clients: z.coerce.number().int().min(1).max(MAX_CLIENTS).default(1),
  tree: listOf(ALL_TREES, TREES),
  scheduler: listOf(SCHEDULER_NAMES, COMPARED_NAMES),
});

const browserSchema = z.strictObject({
  browser: z.preprocess((name) => (name === '' ? 'chromium' : name), z.enum(BROWSER_NAMES)),
  sim: z.undefined({ error: 'not with --browser' }).optional(),
  ...common,
  // The relay of links in real time does not have netem's arithmetic.
  level: listOf(LEVELS),
  tree: listOf(STYLE_NAMES, TREES),
  // The configuration of a gateway cannot leave out parts of our scheduler.
  scheduler: listOf(COMPARED_NAMES, BROWSER_SCHEDULERS),
});

/** Parses some of the names, separated by commas. */
function listOf<Name extends string>(names: readonly Name[], all: readonly Name[] = names) {
  return z
    .string()
    .optional()
    .transform((text, context): readonly Name[] => {
      if (text === undefined) return all;
      const wanted = text.split(',').map((part) => part.trim());
      const unknown = wanted.find((name) => !(names as readonly string[]).includes(name));
      if (unknown === undefined) return names.filter((name) => wanted.includes(name));
      context.addIssue({ code: 'custom', message: `'${unknown}' is none of ${names.join(', ')}` });
      return z.NEVER;
    });
}

/** Measures how the order of streams affects page loads over several paths. */
export const pagesBench: Experiment = {
  name: 'pages',
  options: [...new Set([...Object.keys(simulatedSchema.shape), ...Object.keys(browserSchema.shape)])],
  async run(rawOptions, context) {
    const measure =
      rawOptions['browser'] !== undefined
        ? inBrowser(browserSchema.parse(rawOptions))
        : simulated(simulatedSchema.parse(rawOptions));
    return untilInterrupted(
      () => context.progress('stopping; what is finished is kept, and --resume goes on with it'),
      (stop) => measure(stop, context),
    );
  },
};

type Measure = (stop: AbortSignal, context: ExperimentContext) => Promise<Outcome>;

function simulated({
  runs,
  seed,
  clients,
  page,
  tree,
  level,
  scheduler,
  report: wanted,
  resume,
}: z.output<typeof simulatedSchema>): Measure {
  return async (stop, { progress }) => {
    const machine = describeMachine();
    const parameters = { runs, seed, clients };
    const directory = wanted ?? DEFAULT_DIRECTORY;
    const matrix = { pages: page, trees: tree, levels: level, schedulers: scheduler };
    const measured = await measureSimulatedPages(
      { matrix, parameters, file: join(directory, STORE), resume, stop },
      progress,
    );
    const { cells, missing } = measured;
    const findings = [
      ...publishedDirections(cells),
      ...oursAgainstOthers(cells, measured.runs),
      ...otherController(cells),
    ];
    const data = simulationReport({ machine, parameters, measured, findings });
    if (wanted !== undefined) await keepReport(directory, data, progress);
    const notes = [
      ...(missing > 0 ? [`${missing} cells are missing; --resume measures them`] : []),
      ...findings.flatMap(findingLines),
    ];
    return {
      report: { experiment: 'pages', machine, parameters, missing, findings, cells },
      tables: tablesOf(data, ['critical_ms', 'object_ms', 'plt_ms'], notes),
    };
  };
}

function inBrowser({
  browser: name,
  runs,
  seed,
  page,
  tree,
  level,
  scheduler,
  report: wanted,
  resume,
}: z.output<typeof browserSchema>): Measure {
  return async (stop, { progress }) => {
    const machine = describeMachine();
    const directory = wanted ?? BROWSER_DIRECTORY;
    const matrix = { pages: page, trees: tree, levels: level, schedulers: scheduler };
    const measured = await measureBrowserPages(
      { browser: name, matrix, runs, seed, file: join(directory, STORE), resume, hints: HINTS, stop },
      progress,
    );
    const { browser, missing, cells } = measured;
    const findings = browserFindings(measured.keys, measured.runs);
    const parameters = { runs, seed };
    const data = browserReport({ machine, parameters, measured, findings });
    if (wanted !== undefined) await keepReport(directory, data, progress);
    const notes = [
      ...(missing > 0 ? [`${missing} page loads are missing; --resume measures them`] : []),
      ...findings.flatMap(findingLines),
    ];
    return {
      report: { experiment: 'pages', machine, browser, parameters, missing, findings, cells },
      tables: tablesOf(data, ['fcp_ms', 'load_ms', 'lcp_ms'], notes),
    };
  };
}

async function keepReport<Cell extends ReportCell>(
  directory: string,
  data: ReportData<Cell>,
  progress: ExperimentContext['progress'],
): Promise<void> {
  await writeReport(directory, data);
  progress(`the report is in ${directory}: report.html, report.md, cells.csv, runs.csv and report.json`);
}

/** Returns the tables of these measures, with the notes below the last one. */
function tablesOf<Cell extends ReportCell>(
  data: ReportData<Cell>,
  names: readonly string[],
  notes: string[],
): ResultTable[] {
  if (data.cells.length === 0) return [];
  const tables = names
    .flatMap((name) => data.measures.filter((measure) => measure.name === name))
    .map((measure) => pagesTable(data, measure));
  return tables.map((table, index) => (index === tables.length - 1 ? { ...table, notes } : table));
}
