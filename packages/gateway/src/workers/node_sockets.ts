import { closeSync } from 'node:fs';
import {
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
import type { SentSockets } from './messages.js';
import { sumOf } from './sums.js';

export type LoadedServer = LoadedGateway | LoadedBackend;

type Use = 'listen' | 'http' | 'backbone';

/** Number of attempts to find a port that is free for TCP and UDP, when the configuration lets the system choose */
const portAttempts = 8;
/** Time in milliseconds for workers to close sockets beyond the time that their connections have to finish */
const graceMs = 2_000;

/** Sockets of all workers at one address of the configuration */
interface OpenSockets {
  address: ListenAddresses;
  /** Descriptors of listening sockets, by address and then by worker */
  tcp: number[][];
  udp: WorkerGroup | undefined;
}

/**
 * The sockets of all workers of a node. The main thread keeps them, so that a worker that replaces another one has the same ones:
 * what arrives meanwhile waits there.
 */
export class NodeSockets {
  readonly #places: Record<Use, Place<OpenSockets>> = {
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
   * Opens what a configuration adds. `opened` says what that is, before the commit.
   * @throws UserError when a port is not available
   */
  async prepare(loaded: LoadedServer, drainMs: number): Promise<Prepared & { opened: OpenedSockets }> {
    const { node } = loaded;
    const workers = workerCount(node);
    const opened: Partial<Record<Use, OpenSockets>> = {};
    // Balancers read the ids of clients; those of the backbone are random.
    const serverId = serverIdOf(node.connection_ids);
    const open = (use: Use, transports: readonly Transport[]) => (address: ListenAddresses) => {
      const wanted = { address, workers, transports, serverId: use === 'listen' ? serverId : {} };
      opened[use] = openSockets({ ...wanted, refuse: refusal(loaded, use) });
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
  readonly #byUse: Partial<Record<Use, OpenSockets | undefined>>;

  constructor(byUse: Partial<Record<Use, OpenSockets | undefined>>) {
    this.#byUse = byUse;
  }

  /** Returns those of one worker. */
  of(index: number): SentSockets {
    const sent: SentSockets = { tcp: {}, udp: {} };
    for (const use of ['listen', 'http', 'backbone'] as const) {
      const sockets = this.#byUse[use];
      if (!sockets) continue;
      if (use !== 'backbone') sent.tcp[use] = sockets.tcp.map((ofAddress) => ofAddress[index]!);
      if (use !== 'http' && sockets.udp) sent.udp[use] = { group: sockets.udp.number, index };
    }
    return sent;
  }
}

type Transport = 'TCP' | 'UDP';
type Refuse = (error: unknown, address: ListenAddress, transport: Transport) => unknown;

const refusal =
  ({ place }: LoadedServer, use: Use): Refuse =>
  (error, address, transport) =>
    listenError(error, address, transport, place([use]));

interface Wanted {
  address: ListenAddresses;
  workers: number;
  transports: readonly Transport[];
  /** What the workers put into connection ids */
  serverId: Pick<WorkerGroupOptions, 'serverId'>;
  /** Explains an error of the system. */
  refuse: Refuse;
}

function openSockets(wanted: Wanted): OpenSockets {
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
function tryOpen({ address, workers, transports, serverId, refuse }: Wanted): OpenSockets {
  const sockets: OpenSockets = { address, tcp: [], udp: undefined };
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
        () => openWorkerGroup({ workers, addresses: eachAddress({ ...address, port }), ...serverId }),
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
  await new Promise((resolve) => setTimeout(resolve, drainMs).unref());
  udp.close();
}
