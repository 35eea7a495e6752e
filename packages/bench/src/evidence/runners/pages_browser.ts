import { join } from 'node:path';
import { STYLE_NAMES } from '@sheaf/web-client/priority';
import { z } from 'zod';
import { mean } from '../../measure/statistics.js';
import { arrived, criticalMs } from '../../pages/real/browser_cell.js';
import type { BrowserRun } from '../../pages/real/browser_run.js';
import { BROWSER_NAMES } from '../../pages/real/page_browser.js';
import { measureBrowserPages } from '../../pages/real/real_pages.js';
import { LEVELS } from '../../pages/simulation/network.js';
import { ALL_PAGES, type Page } from '../../pages/simulation/page.js';
import { cellName } from '../../pages/simulation/run_record.js';
import { COMPARED_NAMES, schedulerNamed } from '../../pages/simulation/schedulers.js';
import { cellsAt } from './cells.js';
import { parseSettings, runnerSources, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  browser: z.enum(BROWSER_NAMES),
  pages: z.array(z.enum(ALL_PAGES)).min(1),
  trees: z.array(z.enum(STYLE_NAMES)).min(1),
  levels: z.array(z.enum(LEVELS)).min(1),
});

const settingsSchema = z.strictObject({ scheduler: z.enum(COMPARED_NAMES) });

/** Loads pages in a browser, over links in real time. Times are in milliseconds since the navigation. */
export const pagesBrowser: Runner = {
  name: 'pages-browser',
  realTime: true,
  seeded: true,
  sources: [
    ...runnerSources('pages_browser.ts'),
    'packages/native/src',
    'packages/native/lib',
    'packages/gateway/src',
    'packages/web-client/src',
    'packages/bench/src/browser/chromium.ts',
    'packages/bench/src/browser/firefox.ts',
    'packages/bench/src/pages/real',
    'fixtures/pages',
  ],
  settings(setup, arm) {
    const { scheduler } = settingsSchema.parse(setup.arms[arm]?.settings);
    const { paths, controller = 'olia' } = schedulerNamed(scheduler);
    return { ...parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }), paths, controller };
  },
  async run(setup, { runs, seed, directory, progress, stop }) {
    const { browser, ...axes } = optionsSchema.parse(setup.options);
    const arms = new Map(
      Object.entries(setup.arms).map(([arm, { settings }]) => [settingsSchema.parse(settings).scheduler, arm]),
    );
    const matrix = { ...axes, schedulers: [...arms.keys()] };
    const file = join(directory, 'loads.jsonl');
    const measured = await measureBrowserPages({ browser, matrix, runs, seed, file, resume: true, stop }, progress);
    const cells = measured.keys.flatMap((key) => {
      const page = measured.pages.find(({ name }) => name === key.page);
      const own = measured.runs.get(cellName(key)) ?? [];
      const { scheduler, ...at } = key;
      const bySeed = [...own].sort((left, right) => left.seed - right.seed);
      return page ? cellsAt({ arm: arms.get(scheduler) ?? scheduler, at }, bySeed, quantitiesOf(page)) : [];
    });
    return { cells, versions: { browser: measured.browser }, skipped: [] };
  },
};

const quantitiesOf = (page: Page): Readonly<Record<string, (run: BrowserRun) => number>> => ({
  fcp_ms: ({ fcp_ms }) => fcp_ms,
  lcp_ms: ({ lcp_ms }) => lcp_ms,
  load_ms: ({ load_ms }) => load_ms,
  critical_ms: (run) => criticalMs(page, run),
  object_ms: ({ done_ms }) => mean(arrived(done_ms)),
});
