import { formatAddress } from '../values/listen_error.js';
import type { LoadedEdge, LoadedServer } from '../schema/loaded.js';
import type { OwnStatus } from './merged_status.js';
import type { FrontNodeStatus, FrontStatus, GatewayLinkStatus } from '../observability/status.js';

/** Returns the status of a node of which no worker has told anything. */
export function idleStatus(
  loaded: LoadedServer,
  { life, ...own }: OwnStatus,
  known: Pick<FrontStatus, 'listen' | 'certificate'>,
): FrontNodeStatus {
  const front = {
    ...life,
    ...known,
    alpn: loaded.role === 'gateway' ? loaded.node.alpn : ['h3'],
    requestsActive: 0,
    requestsTotal: 0,
    tcpConnections: 0,
    limitHits: {},
    webTransportSessions: 0,
    connections: [],
    ...own,
  };
  switch (loaded.role) {
    case 'gateway':
      return { ...front, role: 'gateway', routes: [] };
    case 'backend': {
      const primary = { name: loaded.primary.name, connected: false };
      return { ...front, role: 'backend', primary, serving: false, guests: 0, routes: [] };
    }
    case 'edge':
      return { ...front, role: 'edge', gateway: idleLink(loaded) };
  }
}

function idleLink({ node: { gateway: given }, gateway }: LoadedEdge): GatewayLinkStatus {
  const { host: address, port } =
    typeof given === 'string' ? { host: given, port: gateway?.node.listen.port ?? 0 } : given.address;
  return { address: formatAddress({ address, port }), state: 'idle', opened: 0, connections: [] };
}
