import { addon, type NativeWorkerGroup } from './addon.js';
import type { SocketAddress } from './address.js';
import type { InheritedGroup, ListenedAddress, WorkerCounts } from './worker_group_types.js';
import { connectionIdLength } from './server_secrets.js';
import type { ServerOptions } from './transport_options.js';

/** Maximum number of workers of a group. */
export const maxWorkers = 64;

/** Options of {@link openWorkerGroup}. */
export interface WorkerGroupOptions {
  /** Number of workers, 1 to {@link maxWorkers}. */
  workers: number;
  /** IP addresses to listen on. All get the port of the first; port 0 lets the system choose. */
  addresses: readonly ListenedAddress[];
  /** As in the {@link ServerOptions} of the workers. */
  serverId?: ServerOptions['serverId'];
  /**
   * How the kernel chooses the worker of a datagram: by connection ids, or by addresses alone. With `addresses`, datagrams of a
   * client whose address changed reach the wrong worker, which passes them on. Default `ids`.
   */
  steering?: 'ids' | 'addresses';
  /** Sockets of the process that this one takes over from, instead of new ones at `addresses`. The group closes them. */
  inherited?: Pick<InheritedGroup, 'descriptors' | 'key'>;
  /** As in the {@link ServerOptions} of the workers, of which there is one then. Default false. */
  sharesPort?: boolean;
  /** Reads nothing before {@link WorkerGroup.read}. Default false. */
  waits?: boolean;
}

/**
 * The UDP sockets of the workers of one listener, and what these workers share. Each worker thread opens its server with
 * `worker: { group: group.number, index }`. A worker that takes the place of one that ended gets the same sockets.
 */
export interface WorkerGroup {
  /** Names the group in all threads of this process. */
  readonly number: number;
  /** Where the group listens. */
  readonly addresses: readonly SocketAddress[];
  /** `addresses` also where the system refuses to steer by ids. */
  readonly steering: 'ids' | 'addresses';
  /** Returns the counts of each worker. */
  counts(): WorkerCounts[];
  /** Returns what a successor of this process needs. */
  inheritance(): InheritedGroup;
  /**
   * Leaves the sockets to a successor. Workers keep their connections, and get datagrams for them over the link, which is one end of
   * {@link createDatagramPair}. They open no others. The group closes the link. @throws an error with `code`
   */
  passTo(link: number): void;
  /**
   * Passes datagrams of connections that no worker has on to a process before this one, over the other end of its link. The group
   * closes the link.
   */
  follow(link: number): void;
  /** Ends `waits`. */
  read(): void;
  /** Closes the sockets. No worker may start any more. Those that run keep theirs. */
  close(): void;
}

class Group implements WorkerGroup {
  readonly #native: NativeWorkerGroup;
  readonly number: number;
  readonly addresses: readonly SocketAddress[];
  readonly steering: 'ids' | 'addresses';

  constructor({
    workers,
    addresses,
    serverId,
    steering = 'ids',
    inherited,
    waits = false,
    sharesPort = false,
  }: WorkerGroupOptions) {
    // The kernel would count the sockets of others among those of the workers.
    if (sharesPort && workers > 1) throw new TypeError('several workers cannot join a port that others have');
    if (!Number.isInteger(workers) || workers < 1 || workers > maxWorkers)
      throw new TypeError(`a group has 1 to ${maxWorkers} workers, not ${workers}`);
    if (addresses.length === 0 && !inherited) throw new TypeError('a group of workers needs an address');
    const idLength = connectionIdLength(serverId);
    const byIds = steering === 'ids';
    this.#native = new (addon().WorkerGroup)(workers, addresses, idLength, byIds, inherited, waits, sharesPort);
    this.number = this.#native.number();
    this.addresses = this.#native.addresses();
    this.steering = this.#native.steered() ? 'ids' : 'addresses';
  }

  counts(): WorkerCounts[] {
    return this.#native.counts().map(([passedOn, taken, lost]) => ({ passedOn, taken, lost }));
  }

  inheritance(): InheritedGroup {
    return this.#native.inheritance();
  }

  passTo(link: number): void {
    this.#native.passTo(link);
  }

  follow(link: number): void {
    this.#native.follow(link);
  }

  read(): void {
    this.#native.read();
  }

  close(): void {
    this.#native.close();
  }
}

/**
 * Makes a link between a process and its successor on the same machine. Returns the descriptors of both ends.
 * @throws an error with `code`
 */
export function createDatagramPair(): [number, number] {
  return addon().createDatagramPair();
}

/**
 * Opens the sockets of a group of workers, or none.
 * @throws TypeError for options that are wrong; an error with `code` and `address` when an address is not available
 */
export function openWorkerGroup(options: WorkerGroupOptions): WorkerGroup {
  return new Group(options);
}
