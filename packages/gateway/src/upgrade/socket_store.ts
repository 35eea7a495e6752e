import { closeSync } from 'node:fs';
import { awaitServiceManager, removeStoredDescriptor, storeDescriptor } from '@sheaf/native';
import { copiesOf, type OpenedSocket } from './opened_sockets.js';
import type { PassedSockets } from './passed_sockets.js';

/** Time in milliseconds that the service manager gets to read what it is told */
const patienceMs = 1_000;

/** What a failure means: of a removal, and of storing */
const keepsUnused = 'the service manager may keep sockets that no node uses, and their addresses with them';
const keepsNone = 'the service manager does not keep the sockets over a restart';

export interface SocketStoreOptions {
  /** The environment variable `NOTIFY_SOCKET`; without it nobody keeps sockets */
  socketName: string | undefined;
  /** Sockets that the manager passed to this process */
  passed: PassedSockets;
  /** Names of sockets that the manager keeps beside those */
  stored?: Iterable<string>;
  warn: (warning: string) => void;
}

/**
 * The sockets that the service manager keeps while no process of the service runs: what clients send meanwhile waits there, and the
 * next process takes them (FDSTORE of sd_pid_notify_with_fds(3)).
 */
export class SocketStore {
  readonly #socketName: string | undefined;
  readonly #warn: SocketStoreOptions['warn'];
  /** Those of the process before that nobody has taken */
  readonly #passed: Map<string, number>;
  /** Those that the manager opened itself */
  readonly opened: PassedSockets['opened'];
  /** Names of all that the manager has */
  readonly #stored: Set<string>;
  readonly #taken = new Set<string>();
  #ended = false;

  constructor({ socketName, passed, stored = [], warn }: SocketStoreOptions) {
    this.#socketName = socketName;
    this.#warn = warn;
    this.#passed = new Map(passed.kept);
    this.opened = passed.opened;
    this.#stored = new Set([...passed.kept.keys(), ...stored]);
  }

  /** Whether there is a manager that may keep sockets */
  get present(): boolean {
    return (this.#socketName ?? '') !== '' || this.#stored.size > 0 || this.opened.size > 0;
  }

  /** Takes sockets of the process before, in the order of their names. Undefined when one is missing: a part of a group is of no use. */
  take(names: readonly string[]): number[] | undefined {
    if (!names.every((name) => this.#passed.has(name))) return undefined;
    return names.map((name) => {
      const descriptor = this.#passed.get(name)!;
      this.#passed.delete(name);
      this.#taken.add(name);
      return descriptor;
    });
  }

  /** Takes sockets that the manager opened, which it has from now on by these names: it needs no copy of them. */
  takeOpened(names: readonly string[], sockets: readonly OpenedSocket[]): number[] {
    for (const name of names) this.#stored.add(name);
    for (const name of names) this.#taken.add(name);
    return copiesOf(sockets);
  }

  /**
   * Closes what was not taken since the last time, also at the manager, so that the addresses are free. Taken sockets whose node did not
   * start are among these when the next attempt begins.
   */
  dropRest(): void {
    for (const descriptor of this.#passed.values()) closeSync(descriptor);
    this.#passed.clear();
    const rest = [...this.#stored].filter((name) => !this.#taken.has(name));
    this.#taken.clear();
    for (const address of this.opened.unknown)
      this.#warn(
        `warning: the service manager has opened ${address}, where no node listens: clients wait there in vain`,
      );
    if (rest.length === 0) return;
    this.#attempt(keepsUnused, () => this.#remove(rest) ?? awaitServiceManager(this.#socketName, patienceMs));
  }

  /** Lets the manager keep these sockets and no others. */
  keep(sockets: ReadonlyMap<string, number>): void {
    if (this.#ended) return;
    const gone = [...this.#stored].filter((name) => !sockets.has(name));
    const added = [...sockets].filter(([name]) => !this.#stored.has(name));
    if (this.#attempt(keepsUnused, () => this.#remove(gone))) this.#attempt(keepsNone, () => this.#store(added));
  }

  /** Tells the manager nothing more: another process decides about the sockets. */
  end(): void {
    this.#ended = true;
  }

  #remove(names: readonly string[]): string | undefined {
    for (const name of names) {
      const error = removeStoredDescriptor(this.#socketName, name, patienceMs);
      if (error !== undefined) return error;
      this.#stored.delete(name);
    }
    return undefined;
  }

  #store(sockets: readonly [name: string, descriptor: number][]): string | undefined {
    for (const [name, descriptor] of sockets) {
      const error = storeDescriptor(this.#socketName, { name, descriptor }, patienceMs);
      if (error !== undefined) return error;
      this.#stored.add(name);
    }
    return undefined;
  }

  /** Tells the manager. Returns whether it was told. Serving does not depend on it. */
  #attempt(consequence: string, tell: () => string | undefined): boolean {
    const error = tell();
    if (error !== undefined) this.#warn(`warning: ${consequence} (${error})`);
    return error === undefined;
  }
}
