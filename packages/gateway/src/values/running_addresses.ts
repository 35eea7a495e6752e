import type { ListenAddress } from './scalars.js';

/** Addresses that a node of this process listens on */
export interface RunningAddress {
  listen?: ListenAddress;
  backbone?: ListenAddress;
}

/** Addresses of the nodes of this process, whose ports the system may have chosen */
export class RunningAddresses {
  readonly #byName = new Map<string, RunningAddress>();

  set(name: string, address: RunningAddress): void {
    this.#byName.set(name, { ...this.#byName.get(name), ...address });
  }

  /** Returns the configured port, or the port that the system chose if none was configured. */
  portOf(name: string, kind: keyof RunningAddress, configured: number): number {
    return configured === 0 ? (this.#byName.get(name)?.[kind]?.port ?? 0) : configured;
  }

  listenOf(name: string): ListenAddress | undefined {
    return this.#byName.get(name)?.listen;
  }
}
