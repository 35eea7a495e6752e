import type { ListenAddress } from './scalars.js';

/** Where a node of this process listens. */
export interface RunningAddress {
  listen?: ListenAddress;
  backbone?: ListenAddress;
}

/** Where the nodes of this process listen: the system may have chosen their ports. */
export class RunningAddresses {
  readonly #byName = new Map<string, RunningAddress>();

  set(name: string, address: RunningAddress): void {
    this.#byName.set(name, { ...this.#byName.get(name), ...address });
  }

  /** The port that clients or nodes find, where the configuration leaves it to the system. */
  portOf(name: string, kind: keyof RunningAddress, configured: number): number {
    return configured === 0 ? (this.#byName.get(name)?.[kind]?.port ?? 0) : configured;
  }

  listenOf(name: string): ListenAddress | undefined {
    return this.#byName.get(name)?.listen;
  }
}
