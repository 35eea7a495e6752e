import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError, type EdgeStatus } from '@sheaf/gateway';
import type { LinkOptions, LinkRelayOptions } from '@sheaf/native';
import { seededRandom } from '../content/random.js';
import { ensurePages } from '../build/fixtures.js';
import { WARM_FILES, networkAt, type AccessLink, type LevelName, type Network } from '../simulation/network.js';
import { CalledProcess } from '../../process/called_process.js';
import type { LinkCall, LinkStatsAnswer } from './link_process.js';
import type { LoadedOnce } from './load_patiently.js';
import { edgeConfiguration, gatewayConfiguration, LOOPBACK } from './node_configurations.js';
import type { NodeCall, StartedNode } from './node_process.js';
import { startBrowser, type BrowserName, type PageBrowser } from './page_browser.js';
import { LOAD_LIMIT_MS, visitPage, type VisitedResource } from './page_visit.js';

const PATHS_MS = 60_000;

/** A page and the network to load it over */
export interface Visited {
  /** Path of the page, with its style */
  page: string;
  resources: readonly VisitedResource[];
  level: LevelName;
  scheduler: string;
  seed: number;
}

/**
 * A browser, an edge, two links and a gateway for each scheduler, all of them real, each in a process of its own on
 * loopback
 */
export class Laboratory {
  private readonly gateways = new Map<string, { process: CalledProcess<NodeCall>; port: number }>();
  private readonly edge = new CalledProcess<NodeCall>('the edge', join(import.meta.dirname, 'node_process.js'));
  private readonly links = new CalledProcess<LinkCall>('the links', join(import.meta.dirname, 'link_process.js'));

  private constructor(
    private readonly directory: string,
    private readonly browser: PageBrowser,
    private readonly pages: string,
  ) {}

  /** Opens the laboratory. @throws UserError without the browser, or outside of the repository */
  static async open(browser: BrowserName): Promise<Laboratory> {
    const pages = await ensurePages();
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-pages-'));
    try {
      await makeWarmFiles(join(directory, 'warm'));
      return new Laboratory(directory, await startBrowser(browser), pages);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  get browserVersion(): string {
    return this.browser.version;
  }

  /**
   * Loads a page with a new connection and a new context of the browser, over links with the random numbers of the seed.
   * @throws UserError when the laboratory fails, not when the load takes too long
   */
  async visit({ page, resources, level, scheduler, seed }: Visited): Promise<LoadedOnce> {
    const network = networkAt(level);
    const rates_mbps = drawRates(network, seed);
    const { port } = await this.gateway(scheduler);
    const links = network.links.map((link, index) =>
      relayOf({ link, network, mbps: rates_mbps[index] ?? 0, port, seed: 2 * seed + index }),
    );
    const ports = await this.links.call<number[]>({ type: 'open', links });
    const { httpPort } = await this.edge.call<StartedNode>({
      type: 'start',
      configuration: JSON.stringify(edgeConfiguration(port, ports)),
      file: join(this.directory, 'edge.yaml'),
    });
    const times = await visitPage(this.browser, {
      origin: `http://localhost:${httpPort}`,
      warmPage: '/warm/index.html',
      warmFiles: warmNames.map((name) => `/warm/${name}`),
      ready: () => this.untilPathsWork(ports.length),
      page,
      resources,
      limit_ms: LOAD_LIMIT_MS,
    });
    const stats = await this.links.call<LinkStatsAnswer>({ type: 'stats' });
    return {
      seed,
      rates_mbps,
      machine_load: loadavg()[0] ?? 0,
      ...times,
      links: stats.map(({ back }) => ({ datagrams: back.sent, lost: back.lost, queue_full: back.queueFull })),
    };
  }

  async close(): Promise<void> {
    await this.browser.close();
    await Promise.all(
      [this.edge, this.links, ...[...this.gateways.values()].map(({ process }) => process)].map((child) =>
        child.stop(),
      ),
    );
    await rm(this.directory, { recursive: true, force: true });
  }

  private async gateway(scheduler: string): Promise<{ port: number }> {
    const known = this.gateways.get(scheduler);
    if (known) return known;
    const child = new CalledProcess<NodeCall>(
      `the gateway with ${scheduler}`,
      join(import.meta.dirname, 'node_process.js'),
    );
    const files = { pages: this.pages, warm: join(this.directory, 'warm') };
    const configuration = JSON.stringify(gatewayConfiguration(scheduler, files));
    const started = { process: child, port: 0 };
    this.gateways.set(scheduler, started);
    started.port = (
      await child.call<StartedNode>({ type: 'start', configuration, file: join(this.directory, 'gateway.yaml') })
    ).port;
    return started;
  }

  private async untilPathsWork(count: number): Promise<void> {
    const end = performance.now() + PATHS_MS;
    while (performance.now() < end) {
      const { gateway } = await this.edge.call<EdgeStatus>({ type: 'status' });
      const active = gateway.connections[0]?.paths.filter(({ state }) => state === 'active') ?? [];
      if (active.length === count) return;
      await sleep(20);
    }
    throw new UserError('BENCH_FAILED', `the edge has not ${count} paths after ${PATHS_MS / 1000} s`);
  }
}

/** Draws rates in Mbit/s, uniformly as in the simulation. */
function drawRates({ links }: Network, seed: number): number[] {
  const random = seededRandom(`rates ${seed}`);
  // The first numbers of neighboring seeds differ widely, since the seed is hashed.
  return links.map(({ mbps: [low, high] }) => Number((low + ((high - low) * random()) / 2 ** 32).toFixed(3)));
}

function relayOf({
  link,
  network,
  mbps,
  port,
  seed,
}: {
  link: AccessLink;
  network: Network;
  mbps: number;
  port: number;
  seed: number;
}): LinkRelayOptions {
  const { delay_ms, jitter_ms, loss_percent } = link;
  const direction: LinkOptions = {
    rate: mbps * 1e6,
    // The relay adds jitter to the delay, while the setting has the delay in the middle.
    delayMs: delay_ms - jitter_ms,
    jitterMs: 2 * jitter_ms,
    jitterCorrelation: network.jitter_correlation,
    loss: loss_percent / 100,
    lossCorrelation: network.loss_correlation,
    queueBytes: network.queue_bytes,
  };
  return {
    listen: { address: LOOPBACK, port: 0 },
    target: { address: LOOPBACK, port },
    there: direction,
    back: direction,
    seed,
  };
}

const warmNames = Array.from({ length: WARM_FILES.count }, (_, index) => `${index + 1}.bin`);

async function makeWarmFiles(directory: string): Promise<void> {
  await mkdir(directory);
  await writeFile(join(directory, 'index.html'), '<!doctype html>\n<title>Warm</title>\n');
  for (const name of warmNames) await writeFile(join(directory, name), Buffer.alloc(WARM_FILES.bytes, name));
}
