import type { PathReport } from '@sheaf/web-client/protocol';
import { formatAddress } from '../listeners/listen_error.js';
import type { GatewayLinkStatus } from '../observability/status.js';

/** What pages are told of the paths to the gateway and to ends; none while there is no connection. */
export function pathReports({ connection }: GatewayLinkStatus): PathReport[] {
  const ends = new Map(connection?.ends.map(({ path, end }) => [path, { end }]));
  return (connection?.paths ?? []).map((path) => ({
    id: path.id,
    ...ends.get(path.id),
    local: formatAddress(path.local),
    remote: formatAddress(path.remote),
    state: path.state,
    backup: path.status === 'backup' || path.peerStatus === 'backup',
    roundTripMs: path.smoothedRttMs,
    packetsSent: path.packetsSent,
    packetsLost: path.packetsLost,
    bytesSent: path.bytesSent,
    bytesReceived: path.bytesReceived,
  }));
}
