import type { TunnelReport } from '@sheaf/web-client/protocol';
import { pathReport } from './path_report.js';
import type { NodeStatus } from './status.js';

/** Paths that the page shows, the first ones */
const mostPaths = 12;

/** Returns what the page of a node shows of its tunnels; undefined where the node has none. */
export function tunnelReport(status: NodeStatus): TunnelReport | undefined {
  if (status.role !== 'gateway' && status.role !== 'tunnel') return undefined;
  const { node, role, state, tunnels: udp, tcpTunnels: tcp } = status;
  if (!udp && !tcp) return undefined;
  const connections = status.role === 'tunnel' ? status.gateway.connections : status.connections;
  const paths = connections.flatMap(({ paths }) => paths).slice(0, mostPaths);
  return {
    node,
    role,
    state,
    openUdp: udp?.open ?? 0,
    openTcp: tcp?.open ?? 0,
    bytesToTarget: (udp?.bytesToTarget ?? 0) + (tcp?.bytesToTarget ?? 0),
    bytesToClient: (udp?.bytesToClient ?? 0) + (tcp?.bytesToClient ?? 0),
    waitingBytes: udp?.waitingBytes ?? 0,
    ...(udp?.responseMs !== undefined && { responseMs: udp.responseMs }),
    ...(tcp?.openingMs !== undefined && { openingMs: tcp.openingMs }),
    drops: udp?.drops ?? {},
    refused: refusals([udp?.answers, tcp?.answers]),
    paths: paths.map(pathReport),
  };
}

/** Returns the number of requests that got no tunnel, by the status of their response. */
function refusals(all: readonly (Readonly<Record<string, number>> | undefined)[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const answers of all)
    for (const [status, count] of Object.entries(answers ?? {}))
      if (status !== '200' && count > 0) sums[status] = (sums[status] ?? 0) + count;
  return sums;
}
