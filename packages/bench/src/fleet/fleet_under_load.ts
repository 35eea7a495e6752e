import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CalledProcess } from '../process/called_process.js';
import { timeToAgree } from './agreement.js';
import type { BalancerCall } from './balancer_process.js';
import { Connections } from './connections.js';
import { makeNodes, type FleetNode, type Nodes } from './fleet_nodes.js';
import { ForwardingTotals } from './forwarding_totals.js';
import { Load } from './load.js';
import { NatsCluster } from './nats_cluster.js';
import { Watchers } from './watchers.js';

export interface FleetBenchOptions {
  /** Time in seconds for which a fault lasts, and for which the load goes on after it */
  seconds: number;
  seed: number;
  /** Idle time of connections in seconds */
  idle: number;
  /** Size of a download in bytes */
  bytes: number;
}

/** Time in milliseconds for a fleet to agree */
export const agreeMs = 120_000;

/** A fleet of processes behind a balancer, with its registry and its clients */
export class FleetUnderLoad {
  nats!: NatsCluster;
  nodes!: Nodes;
  connections!: Connections;
  load!: Load;
  watchers!: Watchers;
  forwarding!: ForwardingTotals;
  /** Milliseconds after which all nodes agreed for the first time */
  firstAgreement: number | undefined;
  #balancer: CalledProcess<BalancerCall> | undefined;
  #directory = '';

  private constructor(readonly options: FleetBenchOptions) {}

  /** Starts all processes and the load. @throws UserError */
  static async start(options: FleetBenchOptions, progress: (line: string) => void): Promise<FleetUnderLoad> {
    const fleet = new FleetUnderLoad(options);
    try {
      await fleet.#start(progress);
      return fleet;
    } catch (error) {
      await fleet.stop();
      throw error;
    }
  }

  get all(): FleetNode[] {
    return [...this.nodes.gateways, ...this.nodes.backends];
  }

  /** Datagrams that the balancer gave to each gateway */
  async sprayed(): Promise<Record<string, number>> {
    const counts = (await this.#balancer?.call<number[]>({ counts: true })) ?? [];
    return Object.fromEntries(this.nodes.gateways.map(({ name }, index) => [name, counts[index] ?? 0]));
  }

  async stop(): Promise<void> {
    await this.load?.stop();
    await this.watchers?.close();
    await this.#balancer?.stop();
    await Promise.all(this.nodes ? this.all.map((node) => node.kill()) : []);
    await this.nats?.stop();
    if (this.#directory !== '') await rm(this.#directory, { recursive: true, force: true });
  }

  async #start(progress: (line: string) => void): Promise<void> {
    const { idle, seed, bytes } = this.options;
    this.#directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-fleet-'));
    this.nats = await NatsCluster.start(join(this.#directory, 'nats'));
    progress('NATS serves with three servers');
    const nats = this.nats.servers.map(({ url }) => url);
    this.nodes = await makeNodes({ directory: this.#directory, nats, seed, idle, bytes });
    const { gateways, site } = this.nodes;
    const began = performance.now();
    for (const node of this.all) node.start();
    await Promise.all(this.all.map((node) => node.untilServing()));
    this.firstAgreement = await timeToAgree({ living: this.all }, began, agreeMs);
    progress('three gateways and three backends serve');
    this.#balancer = new CalledProcess('the balancer', join(import.meta.dirname, 'balancer_process.js'));
    const targets = gateways.map(({ ports }) => ({ port: ports.listen, admin: ports.admin }));
    const port = await this.#balancer.call<number>({ open: { targets, seed } });
    this.connections = new Connections(port, gateways, idle * 1_000);
    this.forwarding = new ForwardingTotals(gateways);
    this.watchers = new Watchers(this.connections, gateways);
    await this.watchers.fill();
    this.load = new Load(this.connections, site);
  }
}
