import { join } from 'node:path';
import { exitCodes, UserError } from '@sheaf/gateway';
import { announceReady } from '../announce.js';
import { loadExperiments, type ExperimentsPackage } from '../experiments.js';
import { serveUntilSignal } from '../serve.js';
import { printNotice, type World } from '../world.js';
import { LiveSite } from './live_site.js';
import { printReport } from './print_report.js';
import { liveSite } from './site.js';
import { withSite } from './with_site.js';

export interface LiveDemoOptions {
  /** Ports of the edge; 0 selects free ones */
  port: number;
  httpPort: number;
  /** Whether to publish and watch in a headless Chromium, report, and end */
  once: boolean;
  /** File for the report; an empty string means one line of standard output */
  json: string | undefined;
}

/** Serves the pages that publish and watch, with a gateway, an edge, and a tree between them that can be cut. */
export async function serveLive({ once, json, ...ports }: LiveDemoOptions, world: World): Promise<number> {
  const experiments = once ? await loadExperiments('sheaf demo --once', world) : undefined;
  const started = performance.now();
  const pages = await liveSite(world.stderr);
  return withSite(
    (directory) => new LiveSite({ directory, site: pages, ...ports }),
    async (site) => {
      if (experiments) return watchOnce(experiments, site, json, world);
      const announce = async (): Promise<void> => {
        await announceReady(performance.now() - started, world);
        await printNotice(world.stdout, `  ${site.studioUrl}  publishes a clock or a camera, at the gateway`);
        await printNotice(world.stdout, `  ${site.watchUrl}  watches, at an edge`);
        await printNotice(world.stdout, '  next: open both in a browser on this machine, and cut the tree');
      };
      return serveUntilSignal(site.nodes, world, { announce });
    },
  );
}

async function watchOnce(
  { runLiveDemo }: ExperimentsPackage,
  { studioUrl, watchUrl }: LiveSite,
  json: string | undefined,
  world: World,
): Promise<number> {
  const report = await runLiveDemo({
    studioUrl,
    watchUrl,
    progress: world.stderr,
    screenshots: join(world.cwd, '.sheaf', 'demo'),
  });
  await printReport(report, json, world);
  if (!report.ok)
    throw new UserError('DEMO_FAILED', 'the page at the edge did not show every frame', {
      hint: 'the report says what is missing',
    });
  return exitCodes.success;
}
