import type { ListenAddress } from './scalars.js';

/** Addresses that a node of this process listens on */
export interface RunningAddress {
  listen?: ListenAddress;
  backbone?: ListenAddress;
}

/** Addresses of the nodes of this process, whose ports the system may have chosen */
export class RunningAddresses {
  readonly #byName: Map<string, RunningAddress>;
  readonly #watchers = new Set<(name: string, address: RunningAddress) => void>();

  constructor(entries: Iterable<readonly [string, RunningAddress]> = []) {
    this.#byName = new Map(entries);
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

  /** Returns the configured port, or the port that the system chose if none was configured. */
  portOf(name: string, kind: keyof RunningAddress, configured: number): number {
    return configured === 0 ? (this.#byName.get(name)?.[kind]?.port ?? 0) : configured;
  }

  listenOf(name: string): ListenAddress | undefined {
    return this.#byName.get(name)?.listen;
  }
}
