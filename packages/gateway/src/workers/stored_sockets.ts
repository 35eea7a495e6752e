import { randomBytes } from 'node:crypto';
import { boundAddress, type SteeringKey } from '@sheaf/native';
import { workerCount } from '../schema/workers.js';
import type { NodeInheritance, SocketInheritance, SocketUse } from '../upgrade/messages.js';
import { socketNames, type PerSocket } from '../upgrade/socket_names.js';
import type { SocketStore } from '../upgrade/socket_store.js';
import { TakenSockets } from '../upgrade/taken_sockets.js';
import { canonicalText } from '../values/canonical.js';
import { eachAddress, type ListenAddresses } from '../values/scalars.js';
import type { LoadedServer, ServerOptions } from '../schema/loaded.js';
import { transportsOf } from './open_sockets.js';

/** Takes the sockets that the service manager kept for these nodes, and lets go of all others. */
export function takeStored(nodes: readonly LoadedServer[], store: SocketStore): Map<string, TakenSockets> {
  const taken = nodes.map((loaded) => [loaded.name, new TakenSockets(storedFor(loaded, store))] as const);
  store.dropRest();
  return new Map(taken);
}

function storedFor(loaded: LoadedServer, store: SocketStore): NodeInheritance {
  const { name } = loaded;
  const node: ServerOptions = loaded.node;
  const sockets: NodeInheritance['sockets'] = {};
  for (const use of Object.keys(transportsOf) as SocketUse[]) {
    const address = node[use];
    const stored = address && socketsAt(loaded, use, address, store);
    if (stored) sockets[use] = stored;
  }
  return { name, fixed: {}, sockets, drained: [] };
}

/** Returns the sockets at an address of the configuration; undefined unless all of them are there. */
function socketsAt(
  { name, node }: LoadedServer,
  use: SocketUse,
  address: ListenAddresses,
  store: SocketStore,
): SocketInheritance | undefined {
  const configured = canonicalText(address);
  const slots = (transport: 'TCP' | 'UDP'): undefined[][] =>
    transportsOf[use].includes(transport)
      ? eachAddress(address).map(() => Array<undefined>(workerCount(node)).fill(undefined))
      : [];
  const names = socketNames({ node: name, use, configured }, { tcp: slots('TCP'), udp: slots('UDP') });
  const taken = store.take([...names.tcp.flat(), ...names.udp.flat()]);
  if (!taken) return undefined;
  const { tcp, udp } = arranged(taken, names);
  const [transport] = transportsOf[use];
  return {
    configured,
    // With port 0, the system has chosen another one.
    address: { further: [], ...address, port: boundAddress(taken[0]!, transport!)!.port },
    tcp,
    ...(udp.length > 0 && { udp: { descriptors: udp, key: newKey(), links: [] } }),
  };
}

/** Puts descriptors where their names are. */
function arranged(
  descriptors: readonly number[],
  { tcp, udp }: PerSocket<string>,
): { tcp: number[][]; udp: number[][] } {
  const all = descriptors.values();
  const inPlace = (rows: PerSocket<string>['tcp']): number[][] => rows.map((row) => row.map(() => all.next().value!));
  return { tcp: inPlace(tcp), udp: inPlace(udp) };
}

/** The connections that ids of an earlier key led to have ended with their process. */
function newKey(): SteeringKey {
  const bytes = randomBytes(8);
  return { mask: bytes.readUInt32LE(0), multiplier: (bytes.readUInt32LE(4) | 1) >>> 0 };
}
