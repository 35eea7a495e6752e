import { eachAddress, type ListenAddress } from '../values/scalars.js';
import type { LoadedNode } from './loaded.js';
import { workerCount } from './workers.js';

export type Transport = 'TCP' | 'UDP';

/** What a node listens by, for each option that names an address where others connect */
export const transportsOf: Readonly<Record<'listen' | 'http' | 'backbone', readonly Transport[]>> = {
  listen: ['TCP', 'UDP'],
  http: ['TCP'],
  backbone: ['UDP'],
};

/** An address where a node needs sockets, one for each worker */
export interface ListeningPlace {
  use: keyof typeof transportsOf;
  transport: Transport;
  local: ListenAddress;
  sockets: number;
}

/** Returns where a node needs sockets, in the order in which they are opened. */
export function listeningPlaces({ node }: LoadedNode): ListeningPlace[] {
  const addresses = {
    listen: 'listen' in node ? node.listen : undefined,
    http: 'http' in node ? node.http : undefined,
    backbone: 'backbone' in node ? node.backbone : undefined,
  };
  const sockets = 'workers' in node ? workerCount(node) : 1;
  return (Object.keys(transportsOf) as ListeningPlace['use'][]).flatMap((use) => {
    const address = addresses[use];
    const places = address ? eachAddress(address) : [];
    return transportsOf[use].flatMap((transport) => places.map((local) => ({ use, transport, local, sockets })));
  });
}
