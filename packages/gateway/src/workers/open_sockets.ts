import { closeSync } from 'node:fs';
import { openSharedTcp, openWorkerGroup, type WorkerGroup, type WorkerGroupOptions } from '@sheaf/native';
import { systemErrorCode } from '../errors/user_error.js';
import type { Transport } from '../schema/listening.js';
import type { SocketInheritance } from '../upgrade/messages.js';
import { canonicalText } from '../values/canonical.js';
import { eachAddress, type ListenAddress, type ListenAddresses } from '../values/scalars.js';

/** Number of attempts to find a port that is free for TCP and UDP, when the configuration lets the system choose */
const portAttempts = 8;

/** Sockets of all workers at one address of the configuration */
export interface OpenSockets {
  /** The address as the configuration names it, in its canonical form */
  configured: string;
  address: ListenAddresses;
  /** Descriptors of listening sockets, by address and then by worker */
  tcp: number[][];
  udp: WorkerGroup | undefined;
}

export type Refuse = (error: unknown, address: ListenAddress, transport: Transport) => unknown;

interface Wanted {
  address: ListenAddresses;
  workers: number;
  transports: readonly Transport[];
  /** What the workers put into connection ids */
  serverId: Pick<WorkerGroupOptions, 'serverId'>;
  /** Whether datagrams wait in the sockets until `read` */
  waits: boolean;
  /** Whether sockets that send from the port alone may be there already */
  sharesPort: boolean;
}

/** Explains an error of the system. */
interface Explained extends Wanted {
  refuse: Refuse;
}

export function openSockets(wanted: Explained): OpenSockets {
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
function tryOpen({ address, workers, transports, serverId, waits, sharesPort, refuse }: Explained): OpenSockets {
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
        () =>
          openWorkerGroup({ workers, addresses: eachAddress({ ...address, port }), ...serverId, waits, sharesPort }),
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
export function takeOver(inherited: SocketInheritance, { workers, serverId, waits }: Wanted): OpenSockets {
  const { configured, address, tcp, udp } = inherited;
  const perWorker = [...tcp, ...(udp?.descriptors ?? [])];
  if (perWorker.some(({ length }) => length !== workers)) throw new Error('sockets and workers do not go together');
  const group =
    udp && openWorkerGroup({ workers, addresses: eachAddress(address), ...serverId, waits, inherited: udp });
  for (const link of udp?.links ?? []) group?.follow(link);
  return { configured, address, tcp, udp: group };
}

function attempted<Value>(work: () => Value, explain: (error: unknown) => unknown): Value {
  try {
    return work();
  } catch (error) {
    throw explain(error);
  }
}

/** Each worker has descriptors of its own, so a socket that it still uses stays open. */
export function closeTcp(sockets: OpenSockets): void {
  for (const descriptor of sockets.tcp.flat()) closeSync(descriptor);
  sockets.tcp = [];
}
