import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  closeNodes,
  Edge,
  formatAddress,
  Gateway,
  loadConfiguration,
  loadNativeModule,
  startNodes,
  adminHeader,
  type ListenAddress,
  type RunningNode,
} from '@sheaf/gateway';
import type { LinkRelay } from '@sheaf/native';
import { askAdmin } from '../admin.js';
import { BackendControl, type BackendAction, type ControlledSite } from './backend_control.js';
import { NodeProcess } from './node_process.js';
import { freePort } from '@sheaf/gateway/client';
import { multiEndConfiguration, type BackendDescription } from './multi_end_configuration.js';
import { PageControl } from './page_control.js';
import type { DemoSite } from './with_site.js';

/** Links between the edge and the backends: fast enough for a picture, and slow enough to watch */
const links = [
  { megabitsPerSecond: 8, delayMs: 10 },
  { megabitsPerSecond: 6, delayMs: 14 },
  { megabitsPerSecond: 5, delayMs: 18 },
];
/** Link between browsers and the gateway, as wide as the others together */
const gatewayLink = { megabitsPerSecond: 19, delayMs: 10 };
const queueBytes = 128 * 1024;

export interface MultiEndSiteOptions {
  /** Directory for the configuration, keys, certificate and logs */
  directory: string;
  /** Directory with `site` and `pieces` */
  files: string;
  /** Port of the edge; 0 selects a free one */
  port: number;
  httpPort: number;
}

interface RunningBackend extends BackendDescription {
  process: NodeProcess;
  relay: LinkRelay;
}

/**
 * The site of the Multi-End demo: a gateway and an edge in this process, and three backends in processes of their own,
 * each behind a link
 */
export class MultiEndSite implements DemoSite, ControlledSite {
  readonly #options: MultiEndSiteOptions;
  readonly #control = new PageControl(new BackendControl(this));
  readonly #backends: RunningBackend[] = [];
  #nodes: RunningNode[] = [];
  #gatewayRelay: LinkRelay | undefined;
  #gatewayAddress: ListenAddress | undefined;

  constructor(options: MultiEndSiteOptions) {
    this.#options = options;
  }

  /** Gateway and edge */
  get nodes(): readonly RunningNode[] {
    return this.#nodes;
  }

  get edge(): Edge {
    return this.#nodes.find((node) => node instanceof Edge)!;
  }

  /** Where browsers reach the gateway itself, over HTTP/3 alone */
  get gatewayAddress(): ListenAddress {
    return this.#gatewayAddress!;
  }

  get gateway(): Gateway {
    return this.#nodes.find((node) => node instanceof Gateway)!;
  }

  backends(): object[] {
    const reports = this.gateway.status().backends ?? [];
    return this.#backends.map(({ name, number, process }, index) => ({
      name,
      number,
      process: process.process,
      pid: process.pid,
      state: reports.find((report) => report.name === name)?.state ?? 'unknown',
      ...links[index],
    }));
  }

  async act(name: string, action: BackendAction): Promise<boolean> {
    const backend = this.#backends.find((each) => each.name === name);
    if (!backend) return false;
    if (action === 'kill') await backend.process.kill();
    else if (action === 'start') await backend.process.start();
    else await this.#drain(name, action);
    return true;
  }

  async close(): Promise<void> {
    await closeNodes(this.#nodes, 0);
    await Promise.all(this.#backends.map(({ process }) => process.kill()));
    for (const { relay } of this.#backends) relay.close();
    this.#gatewayRelay?.close();
    await this.#control.close();
  }

  async start(): Promise<void> {
    const { directory, files, port, httpPort } = this.#options;
    const control = await this.#control.listen();
    const file = join(directory, 'sheaf.yaml');
    const { createLinkRelay } = await loadNativeModule();
    for (const [index, { megabitsPerSecond, delayMs }] of links.entries()) {
      const [listenPort, backbonePort] = [await freePort(), await freePort()];
      const direction = { rate: megabitsPerSecond * 1e6, delayMs, queueBytes };
      const relay = createLinkRelay({
        listen: { address: `127.0.0.${index + 2}`, port: 0 },
        target: { address: '127.0.0.1', port: listenPort },
        there: direction,
        back: direction,
        seed: index + 1,
      });
      const name = `backend${index + 1}`;
      this.#backends.push({
        name,
        number: index + 1,
        listenPort,
        backbonePort,
        address: relay.listen(),
        relay,
        process: new NodeProcess(name, file),
      });
    }
    const gatewayPort = await freePort();
    const direction = { rate: gatewayLink.megabitsPerSecond * 1e6, delayMs: gatewayLink.delayMs, queueBytes };
    this.#gatewayRelay = createLinkRelay({
      listen: { address: '127.0.0.1', port: 0 },
      target: { address: '127.0.0.1', port: gatewayPort },
      there: direction,
      back: direction,
    });
    this.#gatewayAddress = this.#gatewayRelay.listen();
    await writeFile(
      file,
      multiEndConfiguration({
        port,
        httpPort,
        gatewayPort,
        backbonePort: await freePort(),
        backends: this.#backends,
        control,
        files,
      }),
    );
    // The first backend creates the certificate that all of them use.
    const [first, ...others] = this.#backends;
    await first?.process.start();
    await Promise.all(others.map((backend) => backend.process.start()));
    const { nodes } = await loadConfiguration(file);
    this.#nodes = await startNodes(nodes.filter(({ role }) => role !== 'backend'));
    const { address, httpAddress } = this.edge;
    this.#control.serve([address, httpAddress, this.#gatewayAddress].flatMap((each) => (each ? [each.port] : [])));
  }

  async #drain(name: string, action: 'drain' | 'resume'): Promise<void> {
    const admin = this.gateway.adminAddress;
    if (!admin) throw new Error('the gateway has no admin address');
    const { status, text } = await askAdmin(formatAddress(admin), `/backends/${name}/${action}`, {
      method: 'POST',
      headers: { [adminHeader]: '1' },
    });
    if (status !== 200) throw new Error(text.trim());
  }
}
