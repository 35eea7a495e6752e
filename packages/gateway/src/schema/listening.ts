import type { ValuePath } from '../values/document.js';
import { eachAddress, type ListenAddress, type ListenAddresses } from '../values/scalars.js';
import type { ConnectionIdsOptions } from './connection_ids.js';
import type { LoadedNode, LoadedServer } from './loaded.js';
import { workerCount, type WorkersOption } from './workers.js';

export type Transport = 'TCP' | 'UDP';

/** What a node listens by, for each option that names an address where others connect */
export const transportsOf: Readonly<Record<'listen' | 'http' | 'backbone', readonly Transport[]>> = {
  listen: ['TCP', 'UDP'],
  http: ['TCP'],
  backbone: ['UDP'],
};

type ListenedAddresses = Readonly<Partial<Record<keyof typeof transportsOf, ListenAddresses | undefined>>>;

/** What options say about sockets */
export interface ListeningOptions extends ListenedAddresses {
  workers?: WorkersOption;
  connection_ids?: ConnectionIdsOptions | undefined;
  /** Whether a backend on this machine sends from the port of `listen` */
  sharesPort?: boolean;
}

/** The part of a configuration that sockets are opened for */
export interface ListeningConfiguration {
  options: ListeningOptions;
  place(path: ValuePath): string;
}

/** Returns what the sockets of a node depend on. */
export function listeningOf(loaded: LoadedServer): ListeningConfiguration {
  return { options: { ...loaded.node, sharesPort: sharesPort(loaded) }, place: loaded.place };
}

/** Whether a backend of the same file sends from an address of a gateway's machine */
export function sharesPort(loaded: LoadedNode): boolean {
  return loaded.role === 'gateway' && loaded.backends.some(({ sharesAddress }) => sharesAddress);
}

/** An address where a node needs sockets, one for each worker */
export interface ListeningPlace {
  use: keyof typeof transportsOf;
  transport: Transport;
  local: ListenAddress;
  sockets: number;
}

/** Returns where a node needs sockets, in the order in which they are opened. */
export function listeningPlaces({ node }: Pick<LoadedNode, 'node'>): ListeningPlace[] {
  // What tunnel nodes listen by is for programs of their own machine.
  const options: ListeningOptions = 'listen' in node ? node : {};
  const sockets = workerCount(options);
  return (Object.keys(transportsOf) as ListeningPlace['use'][]).flatMap((use) => {
    const address = options[use];
    const places = address ? eachAddress(address) : [];
    return transportsOf[use].flatMap((transport) => places.map((local) => ({ use, transport, local, sockets })));
  });
}
