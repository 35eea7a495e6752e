import type { LoadedServer } from './node_sockets.js';
import type { OwnStatus, ServerStatus } from './merged_status.js';
import type { FrontStatus } from '../observability/status.js';

/** Returns the status of a node of which no worker has told anything. */
export function idleStatus(
  loaded: LoadedServer,
  { life, ...own }: OwnStatus,
  known: Pick<FrontStatus, 'listen' | 'certificate'>,
): ServerStatus {
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
  if (loaded.role === 'gateway') return { ...front, role: 'gateway', routes: [] };
  const primary = { name: loaded.primary.name, connected: false };
  return { ...front, role: 'backend', primary, serving: false, guests: 0, routes: [] };
}
