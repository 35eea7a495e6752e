import { join } from 'node:path';
import { z } from 'zod';
import { mean } from '../../measure/statistics.js';
import { ALL_LEVELS, networkAt } from '../../pages/simulation/network.js';
import { ALL_PAGES, readPage, type Page } from '../../pages/simulation/page.js';
import { describeSetting } from '../../pages/simulation/page_setting.js';
import { ALL_TREES, priorityTree } from '../../pages/simulation/priority_trees.js';
import { runSchema, type Run } from '../../pages/simulation/run_record.js';
import type { SchedulerChoice } from '../../pages/simulation/schedulers.js';
import { buildNativeBench } from '../../process/cmake.js';
import { runProgram } from '../../process/run_program.js';
import type { Setup } from '../artefact/artefact.js';
import type { ResultCell } from '../results/result.js';
import { runParts } from './parts.js';
import { runnerSources, type RunContext, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  pages: z.array(z.enum(ALL_PAGES)).min(1),
  trees: z.array(z.enum(ALL_TREES)).min(1),
  levels: z.array(z.enum(ALL_LEVELS)).min(1),
  /** Clients that load the page at one time over the same links. */
  clients: z.number().int().min(1).max(64),
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({
  streams: z.string(),
  paths: z.enum(['min-rtt', 'ecf']),
  repeats_late: z.boolean(),
  controller: z.enum(['olia', 'bbr']),
});

/** Page loads over two links in virtual time. Times are in milliseconds since the requests. */
export const pagesSimulation: Runner = {
  name: 'pages-simulation',
  realTime: false,
  sources: [
    runnerSources,
    'packages/native/src',
    'packages/native/bench/pages_bench.cc',
    'packages/bench/src/pages/simulation',
    'packages/web-client/src/priority',
    'fixtures/pages',
  ],
  settings(setup, arm) {
    const options = optionsSchema.parse(setup.options);
    const networks = Object.fromEntries(options.levels.map((level) => [level, networkAt(level)]));
    return { ...options, networks, ...settingsSchema.parse(setup.arms[arm]?.settings) };
  },
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('pages_bench', context.progress);
    const pages = new Map(await Promise.all(options.pages.map(async (name) => [name, await readPage(name)] as const)));
    const parts = placesOf(options).flatMap((at) =>
      Object.keys(setup.arms).map((arm) => ({ name: `${arm}/${Object.values(at).join('/')}`, arm, at })),
    );
    const cells = await runParts(
      parts,
      { file: join(context.directory, 'pages.jsonl'), schema: runSchema, ...context },
      async ({ arm, at }) =>
        simulate(program, pages.get(at.page)!, { setup, arm, at, clients: options.clients }, context),
    );
    return {
      cells: cells.flatMap(({ part, runs }) => cellsOf(part, runs, pages.get(part.at.page)!)),
      versions: {},
      skipped: [],
    };
  },
};

interface Place {
  page: Options['pages'][number];
  tree: Options['trees'][number];
  level: Options['levels'][number];
}

const placesOf = ({ pages, trees, levels }: Options): Place[] =>
  pages.flatMap((page) => trees.flatMap((tree) => levels.map((level) => ({ page, tree, level }))));

async function simulate(
  program: string,
  page: Page,
  { setup, arm, at, clients }: { setup: Setup; arm: string; at: Place; clients: number },
  { seed, runs }: RunContext,
): Promise<Run[]> {
  const { streams, paths, repeats_late: repeatsLate, controller } = settingsSchema.parse(setup.arms[arm]?.settings);
  const scheduler: SchedulerChoice = {
    name: streams,
    paths,
    repeatsLate,
    ...(controller === 'bbr' && { controller }),
    kind: 'other',
  };
  const input = describeSetting({
    page,
    tree: priorityTree(at.tree, page.resources),
    network: networkAt(at.level),
    scheduler,
  });
  const output = await runProgram(program, [seed, runs, clients].map(String), { input });
  return output
    .trimEnd()
    .split('\n')
    .map((line) => runSchema.parse(JSON.parse(line)));
}

/** One value a run: the mean over its clients. */
function cellsOf({ arm, at }: { arm: string; at: Place }, runs: readonly Run[], page: Page): ResultCell[] {
  const critical = page.resources.flatMap((resource, index) => (resource.critical ? [index] : []));
  const perRun = (value: (client: Run['clients'][number]) => number): number[] =>
    runs.map(({ clients }) => mean(clients.map(value)));
  const quantities: Record<string, number[]> = {
    plt_ms: perRun(({ plt_ms }) => plt_ms),
    critical_ms: perRun(({ done_ms }) => Math.max(...critical.map((index) => done_ms[index] ?? 0))),
    object_ms: perRun(({ done_ms }) => mean(done_ms)),
    sent_bytes: perRun(({ paths }) => paths.reduce((sum, { bytes }) => sum + bytes, 0)),
  };
  return Object.entries(quantities).map(([quantity, values]) => ({ arm, at: { ...at }, quantity, values }));
}
