import type { ListenAddress } from './scalars.js';

/** Addresses that a node of this process listens on */
export interface RunningAddress {
  listen?: ListenAddress;
  backbone?: ListenAddress;
}

/** What a registry says of another node */
export interface NodeElsewhere {
  listen: readonly ListenAddress[];
  backbone?: ListenAddress | undefined;
  state: string;
  draining: boolean;
}

/** What a registry knows of other nodes */
export interface NodesElsewhere {
  node(name: string): NodeElsewhere | undefined;
}

/** What a registry knows, as the thread that reads it tells other threads */
export type SentNodes = readonly (NodeElsewhere & { name: string })[];

export interface RunningAddressesOptions {
  /** Nodes of this process that listen already */
  entries?: Iterable<readonly [string, RunningAddress]>;
  /** What a registry knows, where there is one */
  elsewhere?: NodesElsewhere | undefined;
}

/** Addresses of nodes that the configuration leaves open: the system has chosen a port, or the registry knows them. */
export class RunningAddresses {
  readonly #byName: Map<string, RunningAddress>;
  readonly #elsewhere: NodesElsewhere | undefined;
  readonly #watchers = new Set<(name: string, address: RunningAddress) => void>();

  constructor({ entries = [], elsewhere }: RunningAddressesOptions = {}) {
    this.#byName = new Map(entries);
    this.#elsewhere = elsewhere;
  }

  entries(): [string, RunningAddress][] {
    return [...this.#byName];
  }

  set(name: string, address: RunningAddress): void {
    this.#byName.set(name, { ...this.#byName.get(name), ...address });
    for (const watcher of this.#watchers) watcher(name, address);
  }

  /** Calls `watcher` with each address from now on. Returns a function that ends this. */
  watch(watcher: (name: string, address: RunningAddress) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Returns where clients reach a node; nothing as long as only the registry could tell, and does not. */
  addressesOf(name: string, configured: readonly ListenAddress[] | undefined): ListenAddress[] {
    const addresses = configured ?? this.#elsewhere?.node(name)?.listen ?? [];
    return addresses.map(({ address, port }) => ({ address, port: this.#portOf(name, 'listen', port) }));
  }

  /** Returns where nodes reach a node; undefined as long as only the registry could tell, and does not. */
  backboneOf(
    name: string,
    configured: { host: string; port: number } | undefined,
  ): { host: string; port: number } | undefined {
    if (configured) return { ...configured, port: this.#portOf(name, 'backbone', configured.port) };
    const { address: host, port } = this.#elsewhere?.node(name)?.backbone ?? {};
    return host === undefined || port === undefined ? undefined : { host, port };
  }

  /** Whether other nodes come first for new work: this one drains, or its heartbeats are missing. */
  isDoubtful(name: string): boolean {
    const node = this.#elsewhere?.node(name);
    return node !== undefined && (node.draining || node.state !== 'alive');
  }

  listenOf(name: string): ListenAddress | undefined {
    return this.#byName.get(name)?.listen;
  }

  /** Returns the configured port, or the port that the system chose if none was configured. */
  #portOf(name: string, kind: keyof RunningAddress, configured: number): number {
    return configured === 0 ? (this.#byName.get(name)?.[kind]?.port ?? 0) : configured;
  }
}
