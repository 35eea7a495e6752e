import type { PathStatus } from '@sheaf/native';
import type { PathReport } from '@sheaf/web-client/protocol';
import { formatAddress } from '../values/listen_error.js';

/** Returns what pages show of a path. */
export function pathReport(path: PathStatus): PathReport {
  return {
    id: path.id,
    local: formatAddress(path.local),
    remote: formatAddress(path.remote),
    state: path.state,
    backup: path.status === 'backup' || path.peerStatus === 'backup',
    roundTripMs: path.smoothedRttMs,
    packetsSent: path.packetsSent,
    packetsLost: path.packetsLost,
    bytesSent: path.bytesSent,
    bytesReceived: path.bytesReceived,
  };
}
