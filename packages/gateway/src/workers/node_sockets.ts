import { closeSync } from 'node:fs';
import {
  createDatagramPair,
  openSharedTcp,
  openWorkerGroup,
  type WorkerCounts,
  type WorkerGroup,
  type WorkerGroupOptions,
} from '@sheaf/native';
import type { LoadedBackend, LoadedGateway } from '../schema/loaded.js';
import { workerCount } from '../schema/workers.js';
import { serverIdOf } from '../listeners/quic_listener.js';
import { systemErrorCode } from '../errors/user_error.js';
import { listenError } from '../values/listen_error.js';
import { eachAddress, type ListenAddress, type ListenAddresses } from '../values/scalars.js';
import { Place } from '../nodes/life/place.js';
import { prepareAll, type Prepared } from '../nodes/life/reload.js';
import type { Share } from '../upgrade/descriptor_table.js';
import type { SocketInheritance, SocketUse } from '../upgrade/messages.js';
import type { TakenSockets } from '../upgrade/taken_sockets.js';
import { canonicalText } from '../values/canonical.js';
import type { SentSockets } from './messages.js';
import { sumOf } from './sums.js';

export type LoadedServer = LoadedGateway | LoadedBackend;

/** Number of attempts to find a port that is free for TCP and UDP, when the configuration lets the system choose */
const portAttempts = 8;
/** Time in milliseconds for workers to close sockets beyond the time that their connections have to finish */
const graceMs = 2_000;

/** Sockets of all workers at one address of the configuration */
interface OpenSockets {
  /** The address as the configuration names it, in its canonical form */
  configured: string;
  address: ListenAddresses;
  /** Descriptors of listening sockets, by address and then by worker */
  tcp: number[][];
  udp: WorkerGroup | undefined;
}

/** What a successor may take over of the sockets of a node */
export interface SocketLegacy {
  sockets: Partial<Record<SocketUse, SocketInheritance>>;
  /** Reads no more from the sockets that the successor took. Its connections get their datagrams over the links. */
  commit(took: readonly SocketUse[]): void;
  /** Closes what was opened for a successor that does not take over. */
  abandon(): void;
}

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
  /** Sockets of the process before, until this one has taken over */
  #taken: TakenSockets | undefined;

  constructor(taken?: TakenSockets) {
    this.#taken = taken;
  }

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
   * Opens what a configuration adds. `opened` says what that is, before the commit.
   * @throws UserError when a port is not available
   */
  async prepare(loaded: LoadedServer, drainMs: number): Promise<Prepared & { opened: OpenedSockets }> {
    const { node } = loaded;
    const workers = workerCount(node);
    const opened: Partial<Record<SocketUse, OpenSockets>> = {};
    // Balancers read the ids of clients; those of the backbone are random.
    const serverId = serverIdOf(node.connection_ids);
    const open = (use: SocketUse, transports: readonly Transport[]) => (address: ListenAddresses) => {
      const wanted = {
        address,
        workers,
        transports,
        serverId: use === 'listen' ? serverId : {},
        waits: this.#taken !== undefined,
      };
      const inherited = this.#taken?.take(use, canonicalText(address));
      opened[use] = inherited ? takeOver(inherited, wanted) : openSockets({ ...wanted, refuse: refusal(loaded, use) });
      return Promise.resolve(opened[use]);
    };
    const leaveMs = drainMs + graceMs;
    const prepared = await prepareAll([
      () => this.#places.listen.prepare(node.listen, open('listen', ['TCP', 'UDP']), leaveMs),
      () => this.#places.http.prepare(node.http, open('http', ['TCP']), leaveMs),
      () => this.#places.backbone.prepare(node.backbone, open('backbone', ['UDP']), leaveMs),
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
    this.#taken = undefined;
    for (const { current } of Object.values(this.#places)) current?.udp?.read();
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

type Transport = 'TCP' | 'UDP';
type Refuse = (error: unknown, address: ListenAddress, transport: Transport) => unknown;

const refusal =
  ({ place }: LoadedServer, use: SocketUse): Refuse =>
  (error, address, transport) =>
    listenError(error, address, transport, place([use]));

interface Wanted {
  address: ListenAddresses;
  workers: number;
  transports: readonly Transport[];
  /** What the workers put into connection ids */
  serverId: Pick<WorkerGroupOptions, 'serverId'>;
  /** Whether datagrams wait in the sockets until `read` */
  waits: boolean;
}

/** Explains an error of the system. */
interface Explained extends Wanted {
  refuse: Refuse;
}

function openSockets(wanted: Explained): OpenSockets {
  for (let attempt = 1; ; attempt++) {
    try {
      return tryOpen(wanted);
    } catch (error) {
      const mayRetry = wanted.address.port === 0 && attempt < portAttempts && systemErrorCode(error) === 'PORT_TAKEN';
      if (!mayRetry) throw error;
    }
  }
}

/** With port 0, the system chooses the port of the first socket, which all others must have. */
function tryOpen({ address, workers, transports, serverId, waits, refuse }: Explained): OpenSockets {
  const configured = canonicalText(address);
  const sockets: OpenSockets = { configured, address, tcp: [], udp: undefined };
  const [wantsTcp, wantsUdp] = [transports.includes('TCP'), transports.includes('UDP')];
  let { port } = address;
  try {
    for (const each of wantsTcp ? eachAddress(address) : []) {
      const local = { address: each.address, port };
      const opened = attempted(
        () => openSharedTcp(local, workers),
        (error) => refuse(error, local, 'TCP'),
      );
      sockets.tcp.push(opened.descriptors);
      ({ port } = opened);
    }
    if (wantsUdp) {
      sockets.udp = attempted(
        () => openWorkerGroup({ workers, addresses: eachAddress({ ...address, port }), ...serverId, waits }),
        (error) => {
          const { address: refused = address.address } = error as { address?: string };
          return refuse(error, { address: refused, port }, 'UDP');
        },
      );
      port = sockets.udp.addresses[0]!.port;
    }
    return { ...sockets, address: { ...address, port } };
  } catch (error) {
    closeTcp(sockets);
    throw error;
  }
}

/** Takes sockets over from the process before. @throws Error when they are not what the configuration wants */
function takeOver(inherited: SocketInheritance, { workers, serverId, waits }: Wanted): OpenSockets {
  const { configured, address, tcp, udp } = inherited;
  const perWorker = [...tcp, ...(udp?.descriptors ?? [])];
  if (perWorker.some(({ length }) => length !== workers)) throw new Error('sockets and workers do not go together');
  const group =
    udp && openWorkerGroup({ workers, addresses: eachAddress(address), ...serverId, waits, inherited: udp });
  for (const link of udp?.links ?? []) group?.follow(link);
  return { configured, address, tcp, udp: group };
}

/** Sockets that are offered to a successor, with a link for the datagrams of connections that stay here */
class Bequeathed {
  readonly #sockets: OpenSockets;
  readonly #link: [ours: number, theirs: number] | undefined;

  constructor(sockets: OpenSockets) {
    this.#sockets = sockets;
    if (sockets.udp) this.#link = createDatagramPair();
  }

  describe(share: Share): SocketInheritance {
    const { configured, address, tcp, udp } = this.#sockets;
    const shareAll = (all: readonly (readonly number[])[]): number[][] => all.map((each) => each.map(share));
    const described = { configured, address: { further: [], ...address }, tcp: shareAll(tcp) };
    if (!udp || !this.#link) return described;
    const { descriptors, key, links } = udp.inheritance();
    return {
      ...described,
      udp: { descriptors: shareAll(descriptors), key, links: [...links, this.#link[1]].map(share) },
    };
  }

  passOn(): void {
    if (!this.#link) return;
    const [ours, theirs] = this.#link;
    closeSync(theirs);
    this.#sockets.udp?.passTo(ours);
  }

  close(): void {
    this.#link?.forEach((each) => closeSync(each));
  }
}

function attempted<Value>(work: () => Value, explain: (error: unknown) => unknown): Value {
  try {
    return work();
  } catch (error) {
    throw explain(error);
  }
}

/** Each worker has descriptors of its own, so a socket that it still uses stays open. */
function closeTcp(sockets: OpenSockets): void {
  for (const descriptor of sockets.tcp.flat()) closeSync(descriptor);
  sockets.tcp = [];
}

async function leave(sockets: OpenSockets, drainMs: number): Promise<void> {
  closeTcp(sockets);
  if (!sockets.udp) return;
  const { udp } = sockets;
  if (drainMs > 0) await new Promise((resolve) => setTimeout(resolve, drainMs).unref());
  udp.close();
}
