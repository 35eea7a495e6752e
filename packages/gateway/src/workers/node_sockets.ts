import type { WorkerCounts, WorkerGroup } from '@sheaf/native';
import { transportsOf, type ListeningConfiguration } from '../schema/listening.js';
import { workerCount } from '../schema/workers.js';
import { serverIdOf } from '../listeners/quic_listener.js';
import { listenError } from '../values/listen_error.js';
import type { ListenAddress, ListenAddresses } from '../values/scalars.js';
import { Place } from '../nodes/life/place.js';
import { prepareAll, type Prepared } from '../nodes/life/reload.js';
import type { Share } from '../upgrade/descriptor_table.js';
import type { SocketUse } from '../upgrade/messages.js';
import { namedSockets } from '../upgrade/socket_names.js';
import type { TakenSockets } from '../upgrade/taken_sockets.js';
import { canonicalText } from '../values/canonical.js';
import type { SentSockets } from './messages.js';
import { closeTcp, openSockets, takeOver, type OpenSockets, type Refuse } from './open_sockets.js';
import { Bequeathed, type SocketLegacy } from './socket_legacy.js';
import { sumOf } from './sums.js';

/** How sockets are opened for a configuration */
export interface SocketsPreparation {
  /** Time in milliseconds for connections of the sockets that it does not have */
  drainMs: number;
  /** Sockets of an earlier process, at the start */
  taken?: TakenSockets | undefined;
  /** Whether datagrams wait in the sockets until `read` */
  waits?: boolean;
}

/** Time in milliseconds for workers to close sockets beyond the time that their connections have to finish */
const graceMs = 2_000;

/**
 * The sockets of all workers of a node. The main thread keeps them, so that a worker that replaces another one has the same ones:
 * what arrives meanwhile waits there.
 */
export class NodeSockets {
  readonly #places: Record<SocketUse, Place<OpenSockets>> = {
    listen: new Place(leave),
    http: new Place(leave),
    backbone: new Place(leave),
  };
  get address(): ListenAddresses {
    const { current } = this.#places.listen;
    if (!current) throw new Error('the node does not listen');
    return current.address;
  }

  get httpAddress(): ListenAddress | undefined {
    return this.#places.http.current?.address;
  }

  get backboneAddress(): ListenAddress | undefined {
    return this.#places.backbone.current?.address;
  }

  /**
   * Opens what a configuration adds, or takes it from another process. `opened` says what that is, before the commit.
   * @throws UserError when a port is not available
   */
  async prepare(
    { options, place }: ListeningConfiguration,
    { drainMs, taken, waits = false }: SocketsPreparation,
  ): Promise<Prepared & { opened: OpenedSockets }> {
    const workers = workerCount(options);
    const opened: Partial<Record<SocketUse, OpenSockets>> = {};
    // Balancers read the ids of clients; those of the backbone are random.
    const serverId = serverIdOf(options.connection_ids);
    const open = (use: SocketUse) => (address: ListenAddresses) => {
      const wanted = {
        address,
        workers,
        transports: transportsOf[use],
        serverId: use === 'listen' ? serverId : {},
        waits,
        sharesPort: use === 'listen' && workers === 1 && (options.sharesPort ?? false),
      };
      const inherited = taken?.take(use, canonicalText(address));
      opened[use] = inherited ? takeOver(inherited, wanted) : openSockets({ ...wanted, refuse: refusal(place, use) });
      return Promise.resolve(opened[use]);
    };
    const leaveMs = drainMs + graceMs;
    const prepared = await prepareAll([
      () => this.#places.listen.prepare(options.listen, open('listen'), leaveMs),
      () => this.#places.http.prepare(options.http, open('http'), leaveMs),
      () => this.#places.backbone.prepare(options.backbone, open('backbone'), leaveMs),
    ]);
    return { ...prepared, opened: new OpenedSockets(opened) };
  }

  /** All sockets in use */
  get current(): OpenedSockets {
    const uses = Object.entries(this.#places).map(([use, { current }]) => [use, current] as const);
    return new OpenedSockets(Object.fromEntries(uses));
  }

  /** The UDP sockets of clients */
  get group(): WorkerGroup | undefined {
    return this.#places.listen.current?.udp;
  }

  /** How the system divides datagrams among the workers */
  get steering(): WorkerGroup['steering'] {
    return this.#places.listen.current?.udp?.steering ?? 'addresses';
  }

  /** Returns what each worker passed on to others, and took from them. */
  counts(): WorkerCounts[] {
    const groups = Object.values(this.#places).flatMap(({ all }) => all.flatMap(({ udp }) => udp ?? []));
    return groups
      .map((group) => group.counts())
      .reduce((sums, counts) => sums.map((sum, at) => sumOf([sum, counts[at] ?? sum])));
  }

  /** Reads from the sockets that were taken over. */
  read(): void {
    for (const { current } of Object.values(this.#places)) current?.udp?.read();
  }

  /** Returns the sockets in use by the names under which the service manager keeps them. */
  named(node: string): [name: string, descriptor: number][] {
    return Object.entries(this.#places).flatMap(([use, { current }]) => {
      if (!current) return [];
      const { configured, tcp, udp } = current;
      const sockets = { tcp, udp: udp?.inheritance().descriptors ?? [] };
      return namedSockets({ node, use: use as SocketUse, configured }, sockets);
    });
  }

  /** Offers the sockets to a successor. @throws an error of the system */
  bequeath(share: Share): SocketLegacy {
    const legacy: SocketLegacy['sockets'] = {};
    const own: Partial<Record<SocketUse, Bequeathed>> = {};
    const abandon = (): void => Object.values(own).forEach((each) => each.close());
    try {
      for (const [use, { current }] of Object.entries(this.#places) as [SocketUse, Place<OpenSockets>][])
        if (current) {
          own[use] = new Bequeathed(current);
          legacy[use] = own[use].describe(share);
        }
    } catch (error) {
      abandon();
      throw error;
    }
    const commit = (took: readonly SocketUse[]): void => {
      for (const [use, each] of Object.entries(own) as [SocketUse, Bequeathed][]) {
        if (took.includes(use)) each.passOn();
        else each.close();
      }
      this.stopListening();
    };
    return { sockets: legacy, commit, abandon };
  }

  /** Takes no more connections. */
  stopListening(): void {
    for (const { all } of Object.values(this.#places)) for (const sockets of all) closeTcp(sockets);
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#places).map((place) => place.close(0)));
  }
}

/** Sockets that workers are to take over */
export class OpenedSockets {
  readonly #byUse: Partial<Record<SocketUse, OpenSockets | undefined>>;

  constructor(byUse: Partial<Record<SocketUse, OpenSockets | undefined>>) {
    this.#byUse = byUse;
  }

  /** Returns those of one worker. */
  of(index: number): SentSockets {
    const sent: SentSockets = { tcp: {}, udp: {} };
    for (const use of ['listen', 'http', 'backbone'] as const) {
      const sockets = this.#byUse[use];
      if (!sockets) continue;
      const { port } = sockets.address;
      if (use !== 'backbone') sent.tcp[use] = { descriptors: sockets.tcp.map((ofAddress) => ofAddress[index]!), port };
      if (use !== 'http' && sockets.udp) sent.udp[use] = { group: sockets.udp.number, index };
    }
    return sent;
  }
}

const refusal =
  (place: ListeningConfiguration['place'], use: SocketUse): Refuse =>
  (error, address, transport) =>
    listenError(error, address, transport, place([use]));

async function leave(sockets: OpenSockets, drainMs: number): Promise<void> {
  closeTcp(sockets);
  if (!sockets.udp) return;
  const { udp } = sockets;
  if (drainMs > 0) await new Promise((resolve) => setTimeout(resolve, drainMs).unref());
  udp.close();
}
