import { join } from 'node:path';
import { z } from 'zod';
import { fairnessIndex, mean, summary } from '../../measure/statistics.js';
import { ALL_LEVELS, networkAt } from '../../pages/simulation/network.js';
import { ALL_PAGES, criticalTime, readPage, type Page } from '../../pages/simulation/page.js';
import { ALL_TREES } from '../../pages/simulation/priority_trees.js';
import { runSchema, type Run } from '../../pages/simulation/run_record.js';
import type { SchedulerChoice } from '../../pages/simulation/schedulers.js';
import { simulatePage } from '../../pages/simulation/simulated_pages.js';
import { buildNativeBench } from '../../process/cmake.js';
import type { Setup } from '../artefact/artefact.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';
import { cellsOfShares } from './shares_of_objects.js';

const optionsSchema = z.strictObject({
  pages: z.array(z.enum(ALL_PAGES)).min(1),
  trees: z.array(z.enum(ALL_TREES)).min(1),
  levels: z.array(z.enum(ALL_LEVELS)).min(1),
  /** Clients that load the page at the same time over the same links */
  clients: z.number().int().min(1).max(64),
  /** Shares of a load's objects in percent, of which each run keeps the times of completion */
  shares: z.array(z.number().positive().max(100)).default([]),
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({
  streams: z.string(),
  paths: z.enum(['min-rtt', 'ecf']),
  repeats_late: z.boolean(),
  controller: z.enum(['olia', 'bbr']),
});

/** Simulates page loads over two links in virtual time. Times are in milliseconds since the requests. */
export const pagesSimulation: Runner = {
  name: 'pages-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('pages_simulation.ts'), ...settingProgramSources('pages_bench'), 'fixtures/pages'],
  settings(setup, arm) {
    const settings = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    const networks = Object.fromEntries(settings.levels.map((level) => [level, networkAt(level)]));
    return { ...settings, networks };
  },
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('pages_bench', context.progress);
    const pages = new Map(await Promise.all(options.pages.map(async (name) => [name, await readPage(name)] as const)));
    const parts = placesOf(options).flatMap((at) =>
      Object.keys(setup.arms).map((arm) => ({ name: `${arm}/${Object.values(at).join('/')}`, arm, at })),
    );
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'pages.jsonl'), schema: runSchema, ...context },
      async ({ arm, at }) =>
        simulatePage(
          program,
          { page: pages.get(at.page)!, tree: at.tree, level: at.level, scheduler: schedulerOf(setup, arm) },
          { seed: context.seed, runs: context.runs, clients: options.clients },
        ),
    );
    return {
      cells: finished.flatMap(({ part: { arm, at }, runs }) => {
        const place = { arm, at: { ...at } };
        return [
          ...cellsAt(place, runs, quantitiesOf(pages.get(at.page)!)),
          ...cellsOfShares(place, runs, options.shares),
        ];
      }),
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

function schedulerOf(setup: Setup, arm: string): SchedulerChoice {
  const { streams, paths, repeats_late: repeatsLate, controller } = settingsSchema.parse(setup.arms[arm]?.settings);
  return { name: streams, paths, repeatsLate, ...(controller === 'bbr' && { controller }), kind: 'other' };
}

/** Returns the quantities of one run, as means over its clients. */
function quantitiesOf(page: Page): Readonly<Record<string, (run: Run) => number>> {
  const critical = criticalTime(page);
  const perClient =
    (value: (client: Run['clients'][number]) => number) =>
    ({ clients }: Run): number =>
      mean(clients.map(value));
  return {
    plt_ms: perClient(({ plt_ms }) => plt_ms),
    critical_ms: perClient(({ done_ms }) => critical(done_ms)),
    object_ms: perClient(({ done_ms }) => mean(done_ms)),
    p95_object_ms: perClient(({ done_ms }) => summary(done_ms).p95),
    fairness: ({ clients }) => fairnessIndex(clients.map(({ plt_ms }) => plt_ms)),
    sent_bytes: perClient(({ paths }) => paths.reduce((sum, { bytes }) => sum + bytes, 0)),
  };
}
