import { join } from 'node:path';
import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { otherController, oursAgainstOthers, publishedDirections } from './simulation/findings.js';
import { LEVELS } from './simulation/network.js';
import { ALL_PAGES, PAGES } from './simulation/page.js';
import { ALL_TREES, TREES } from './simulation/priority_trees.js';
import { writeReport } from './report/write_report.js';
import { findingLines, pagesTable } from './report/tables.js';
import { COMPARED_NAMES, SCHEDULER_NAMES } from './simulation/schedulers.js';
import { measureSimulatedPages } from './simulation/simulated_pages.js';

/** Where the runs of an experiment without a report are kept, below the working directory. */
const DEFAULT_DIRECTORY = join('.sheaf', 'bench-pages');
const STORE = 'runs.jsonl';
const MOST_CLIENTS = 64;

const optionsSchema = z.strictObject({
  sim: z.literal(true, { error: 'give --sim (virtual time)' }),
  runs: z.coerce.number().int().min(2).default(20),
  seed: z.coerce.number().int().min(0).default(1),
  clients: z.coerce.number().int().min(1).max(MOST_CLIENTS).default(1),
  page: listOf(ALL_PAGES, PAGES),
  tree: listOf(ALL_TREES, TREES),
  level: listOf(LEVELS),
  scheduler: listOf(SCHEDULER_NAMES, COMPARED_NAMES),
  report: z.string().min(1).optional(),
  resume: z.boolean().default(false),
});

/** Some of the names, with commas between. */
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

/** Page loads over several paths: what the order of streams does to them. */
export const pagesBench: Experiment = {
  name: 'pages',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, context) {
    const options = optionsSchema.parse(rawOptions);
    const stop = new AbortController();
    const onSignal = (): void => {
      context.progress('stopping; what is finished is kept, and --resume goes on with it');
      stop.abort();
    };
    process.once('SIGINT', onSignal);
    try {
      return await simulate(options, stop.signal, context);
    } finally {
      process.off('SIGINT', onSignal);
    }
  },
};

async function simulate(options: z.output<typeof optionsSchema>, stop: AbortSignal, { progress }: ExperimentContext): Promise<Outcome> {
  const { runs, seed, clients, page, tree, level, scheduler, resume } = options;
  const machine = describeMachine();
  const parameters = { runs, seed, clients };
  const directory = options.report ?? DEFAULT_DIRECTORY;
  const matrix = { pages: page, trees: tree, levels: level, schedulers: scheduler };
  const measured = await measureSimulatedPages({ matrix, parameters, file: join(directory, STORE), resume, stop }, progress);
  const { cells, missing } = measured;
  const findings = [...publishedDirections(cells), ...oursAgainstOthers(cells, measured.runs), ...otherController(cells)];
  const report = { experiment: 'pages', machine, parameters, missing, findings, cells };
  if (options.report !== undefined) {
    await writeReport(directory, { ...report, pages: measured.pages, runs: measured.runs });
    progress(`the report is in ${directory}: report.html, report.md, cells.csv, runs.csv and report.json`);
  }
  const notes = [...(missing > 0 ? [`${missing} cells are missing; --resume measures them`] : []), ...findings.flatMap(findingLines)];
  return { report, tables: cells.length > 0 ? [pagesTable(cells, 'critical_ms'), pagesTable(cells, 'object_ms'), { ...pagesTable(cells, 'plt_ms'), notes }] : [] };
}
