import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { closeNodes, Gateway, loadConfiguration, startNodes, type EdgeStatus, type RunningNode } from '@sheaf/gateway';
import { freePort } from '@sheaf/gateway/client';
import { askAdmin } from '../admin.js';
import { liveConfiguration } from './live_configuration.js';
import { LiveControl, type LiveTreeControl } from './live_control.js';
import { LiveTree } from './live_tree.js';
import { NodeProcess } from './node_process.js';
import { PageControl } from './page_control.js';
import type { DemoSite } from './with_site.js';

const source = '127.0.0.1';
/** Any group of one source (RFC 4607). Its port is a free one, so that demos do not hear each other. */
const groupAddress = '232.98.7.10';
/** Share of the packets that the tree loses, so that repairs can be seen */
const loss = 0.02;

export interface LiveSiteOptions {
  /** Directory for the configuration, the certificate and logs */
  directory: string;
  /** Directory of the pages */
  site: string;
  /** Ports of the edge; 0 selects free ones */
  port: number;
  httpPort: number;
}

/**
 * The site of the live demo: a gateway with a channel in this process, two edges in processes of their own, and between
 * them the tree of routers that carries the channel's group
 */
export class LiveSite implements DemoSite, LiveTreeControl {
  readonly #options: LiveSiteOptions;
  readonly #control = new PageControl(new LiveControl(this));
  #tree: LiveTree | undefined;
  #nodes: RunningNode[] = [];
  #edges: NodeProcess[] = [];
  #ports = { edge: 0, edgeHttp: 0, admin: 0, other: 0, gateway: 0, gatewayHttp: 0 };

  constructor(options: LiveSiteOptions) {
    this.#options = options;
  }

  /** The gateway. The edges are processes of their own. */
  get nodes(): readonly RunningNode[] {
    return this.#nodes;
  }

  /** The page that publishes, at the gateway */
  get studioUrl(): string {
    return `http://localhost:${this.#ports.gatewayHttp}/studio.html`;
  }

  /** The page that watches, at the edge */
  get watchUrl(): string {
    return `http://localhost:${this.#ports.edgeHttp}/`;
  }

  async report(): Promise<object> {
    const gateway = this.#nodes.find((node) => node instanceof Gateway)!;
    const { text } = await askAdmin(`127.0.0.1:${this.#ports.admin}`, '/status');
    const [edge] = (JSON.parse(text) as EdgeStatus).media ?? [];
    const [channel] = gateway.status().channels ?? [];
    const { isCut, counts } = this.#tree!;
    return { studio: this.studioUrl, watch: this.watchUrl, tree: { cut: isCut, loss, packets: counts }, channel, edge };
  }

  setCut(isCut: boolean): void {
    this.#tree!.isCut = isCut;
  }

  async close(): Promise<void> {
    try {
      await closeNodes(this.#nodes, 0);
    } finally {
      await Promise.all(this.#edges.map((edge) => edge.kill()));
      this.#tree?.close();
      await this.#control.close();
    }
  }

  async start(): Promise<void> {
    const { directory, site, port, httpPort } = this.#options;
    const control = await this.#control.listen();
    const group = { address: groupAddress, port: await freePort() };
    this.#tree = await LiveTree.start({ group, source, loss, random: Math.random });
    this.#ports = {
      edge: port || (await freePort()),
      edgeHttp: httpPort || (await freePort()),
      admin: await freePort(),
      other: await freePort(),
      gateway: await freePort(),
      gatewayHttp: await freePort(),
    };
    const file = join(directory, 'sheaf.yaml');
    const configuration = liveConfiguration({
      port: this.#ports.edge,
      httpPort: this.#ports.edgeHttp,
      adminPort: this.#ports.admin,
      otherPort: this.#ports.other,
      gatewayPort: this.#ports.gateway,
      gatewayHttpPort: this.#ports.gatewayHttp,
      group,
      source,
      relay: this.#tree.relay,
      control,
      site,
    });
    await writeFile(file, configuration);
    const { nodes } = await loadConfiguration(file);
    // The gateway creates the certificate that all use.
    this.#nodes = await startNodes(nodes.filter(({ role }) => role === 'gateway'));
    this.#edges = ['classroom', 'library'].map((name) => new NodeProcess(name, file));
    await Promise.all(this.#edges.map((edge) => edge.start()));
    const { edge, edgeHttp, gateway, gatewayHttp } = this.#ports;
    this.#control.serve([edge, edgeHttp, gateway, gatewayHttp]);
  }
}
