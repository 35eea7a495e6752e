import type { ExperimentsPackage } from '@sheaf/cli';
import { bench } from './bench.js';
import { evidence } from './evidence.js';
import { record } from './record.js';

/**
 * The commands of this package. Their implementations are loaded when they run, since `sheaf --help` loads this module.
 */
export const addCommand: ExperimentsPackage['addCommand'] = {
  bench: (add) => add(bench),
  evidence: (add) => add(evidence),
  record: (add) => add(record),
};

/** Loads the demo page in Chromium. Playwright is loaded on demand. */
export const runBrowserDemo: ExperimentsPackage['runBrowserDemo'] = async (target) =>
  (await import('../browser/browser_demo.js')).runBrowserDemo(target);

/** Publishes and watches in Chromium. Playwright is loaded on demand. */
export const runLiveDemo: ExperimentsPackage['runLiveDemo'] = async (target) =>
  (await import('../browser/live_demo.js')).runLiveDemo(target);
