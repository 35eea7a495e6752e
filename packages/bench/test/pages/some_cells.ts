import { summarizeCell, type PagesCell } from '../../src/pages/simulation/cell.js';
import type { Page } from '../../src/pages/simulation/page.js';
import type { CellKey, Run } from '../../src/pages/simulation/run_record.js';

/** One client, three resources. */
export function someRun(seed: number, plt_ms = 300 + seed): Run {
  return {
    seed,
    digest: '0123456789abcdef',
    rates_mbps: [32, 56],
    clients: [
      {
        plt_ms,
        byte_index_ms: 150,
        first_ms: [25, 40, 50],
        done_ms: [60, 120, plt_ms],
        paths: [{ bytes: 1000, packets: 10, lost: 1 }],
      },
    ],
  };
}

export const somePage: Page = {
  name: 'google',
  bytes: 1_000_000,
  resources: [
    { path: 'index.html', bytes: 100_000, type: 'text/html', class: 'html', load: 'document', critical: true },
    { path: 'a<b>&".css', bytes: 100_000, type: 'text/css', class: 'css', load: 'style', critical: true },
    { path: 'c.png', bytes: 800_000, type: 'image/png', class: 'image', load: 'image', critical: false },
  ],
};

/** A cell whose runs have this page load time, give or take a millisecond. */
export function someCell(key: CellKey, plt_ms: number): PagesCell {
  return summarizeCell(key, { ...somePage, name: key.page }, [someRun(1, plt_ms - 1), someRun(2, plt_ms + 1)]);
}
