import { join } from 'node:path';
import { STYLE_NAMES } from '@sheaf/web-client/priority';
import { z } from 'zod';
import { criticalMs, isCensored, objectMs } from '../../pages/real/browser_cell.js';
import type { BrowserRun } from '../../pages/real/browser_run.js';
import { edgeConfiguration, gatewayConfiguration } from '../../pages/real/node_configurations.js';
import { BROWSER_NAMES } from '../../pages/real/page_browser.js';
import { measureBrowserPages } from '../../pages/real/real_pages.js';
import { LEVELS, networkAt } from '../../pages/simulation/network.js';
import { ALL_PAGES, type Page } from '../../pages/simulation/page.js';
import { cellName } from '../../pages/simulation/run_record.js';
import { COMPARED_NAMES } from '../../pages/simulation/schedulers.js';
import { cellsAt } from './cells.js';
import { addonSources, againHint, armsOf, parseSettings, prefixed, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  browser: z.enum(BROWSER_NAMES),
  pages: z.array(z.enum(ALL_PAGES)).min(1),
  trees: z.array(z.enum(STYLE_NAMES)).min(1),
  levels: z.array(z.enum(LEVELS)).min(1),
});

const settingsSchema = z.strictObject({ scheduler: z.enum(COMPARED_NAMES) });

/**
 * Loads pages in a browser, over links in real time. Times are in milliseconds since the navigation. A load that did not
 * end counts with the limit as its time.
 */
export const pagesBrowser: Runner = {
  name: 'pages-browser',
  realTime: true,
  seeded: true,
  sources: [runnerModule('pages_browser.ts'), ...addonSources, 'packages/web-client/src', 'fixtures/pages'],
  settings(setup, arm) {
    const settings = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    const gateway = gatewayConfiguration(settings.scheduler, { pages: 'pages', warm: 'warm' });
    const networks = settings.levels.map((level) => [level, networkAt(level)] as const);
    return {
      ...settings,
      ...prefixed('gateway', gateway),
      edges: Object.fromEntries(
        networks.map(([level, { links }]) => [
          level,
          edgeConfiguration(
            0,
            links.map(() => 0),
          ),
        ]),
      ),
      networks: Object.fromEntries(networks),
    };
  },
  async run(setup, { runs, seed, directory, progress, stop }) {
    const { browser, ...axes } = optionsSchema.parse(setup.options);
    const arms = new Map(armsOf(setup, settingsSchema).map(({ arm, scheduler }) => [scheduler, arm]));
    const matrix = { ...axes, schedulers: [...arms.keys()] };
    const file = join(directory, 'loads.jsonl');
    const hints = { anew: againHint, goOn: 'the same command without --again goes on' };
    const measured = await measureBrowserPages(
      { browser, matrix, runs, seed, file, resume: true, hints, stop },
      progress,
    );
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
  object_ms: objectMs,
  not_ended_percent: (run) => (isCensored(run) ? 100 : 0),
  repeats: ({ repeats }) => repeats.length,
});
