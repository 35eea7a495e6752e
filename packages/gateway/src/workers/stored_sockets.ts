import { randomBytes } from 'node:crypto';
import { boundSocket, type SteeringKey } from '@sheaf/native';
import { UserError } from '../errors/user_error.js';
import { listeningPlaces, transportsOf, type ListeningOptions, type Transport } from '../schema/listening.js';
import { workerCount } from '../schema/workers.js';
import type { NodeInheritance, SocketInheritance, SocketUse } from '../upgrade/messages.js';
import type { OpenedSocket } from '../upgrade/opened_sockets.js';
import { socketNames, type PerSocket } from '../upgrade/socket_names.js';
import type { SocketStore } from '../upgrade/socket_store.js';
import { TakenSockets } from '../upgrade/taken_sockets.js';
import { canonicalText } from '../values/canonical.js';
import { formatAddress } from '../values/listen_error.js';
import { eachAddress, type ListenAddresses } from '../values/scalars.js';
import type { LoadedServer } from '../schema/loaded.js';

/** Takes the sockets that the service manager opened or kept for these nodes, and lets go of all others. @throws UserError */
export function takeStored(nodes: readonly LoadedServer[], store: SocketStore): Map<string, TakenSockets> {
  const taken = nodes.map((loaded) => [loaded.name, new TakenSockets(storedFor(loaded, store))] as const);
  store.dropRest();
  return new Map(taken);
}

function storedFor(loaded: LoadedServer, store: SocketStore): NodeInheritance {
  const { name } = loaded;
  const options: ListeningOptions = loaded.node;
  const sockets: NodeInheritance['sockets'] = {};
  for (const use of Object.keys(transportsOf) as SocketUse[]) {
    const address = options[use];
    const stored = address && socketsAt(loaded, use, address, store);
    if (stored) sockets[use] = stored;
  }
  return { name, fixed: {}, sockets, drained: [] };
}

/** Returns the sockets at an address of the configuration; undefined unless all of them are there. @throws UserError */
function socketsAt(
  loaded: LoadedServer,
  use: SocketUse,
  address: ListenAddresses,
  store: SocketStore,
): SocketInheritance | undefined {
  const configured = canonicalText(address);
  const options: ListeningOptions = loaded.node;
  const slots = (transport: Transport): undefined[][] =>
    transportsOf[use].includes(transport)
      ? eachAddress(address).map(() => Array<undefined>(workerCount(options)).fill(undefined))
      : [];
  const named = socketNames({ node: loaded.name, use, configured }, { tcp: slots('TCP'), udp: slots('UDP') });
  const names = [...named.tcp.flat(), ...named.udp.flat()];
  const opened = openedFor(loaded, use, store);
  const taken = opened ? store.takeOpened(names, opened) : store.take(names);
  if (!taken) return undefined;
  const { tcp, udp } = arranged(taken, named);
  const [transport] = transportsOf[use];
  return {
    configured,
    // With port 0, the system has chosen another one.
    address: { further: [], ...address, port: boundSocket(taken[0]!, transport!)!.port },
    tcp,
    ...(udp.length > 0 && { udp: { descriptors: udp, key: newKey(), links: [] } }),
  };
}

/**
 * Returns the sockets that the service manager opened for a use of the node, in the order of their names; undefined when there are
 * none. @throws UserError when they are others than the node needs: the manager has the address, and gives it to nobody else
 */
function openedFor(loaded: LoadedServer, wanted: SocketUse, { opened }: SocketStore): OpenedSocket[] | undefined {
  const places = listeningPlaces(loaded).filter(({ use }) => use === wanted);
  const found = places.map((place) => ({ ...place, opened: opened.at(place.transport, place.local) }));
  if (found.every((place) => place.opened.length === 0)) return undefined;
  for (const { transport, local, sockets, opened: here } of found) {
    const where = `${transport} ${formatAddress(local)}`;
    const misfit = (message: string): UserError =>
      new UserError('SOCKETS_UNFIT', message, {
        hint: 'run `sheaf deploy systemd --socket-unit` again, install the socket unit, stop both units, and start both',
        place: loaded.place([wanted]),
      });
    if (here.length !== sockets)
      throw misfit(`the service manager has opened ${here.length} sockets of ${where}, and not ${sockets}`);
    if (sockets > 1 && !here.every(({ bound }) => bound.shared))
      throw misfit(`the sockets of ${where} do not share their address (\`ReusePort=yes\`)`);
  }
  return found.flatMap((place) => place.opened);
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
