import type { ConnectionStatus, TransportCounters } from '@sheaf/native';
import type { UpstreamStatus } from '../upstream/upstream_group.js';

export type GatewayState = 'starting' | 'serving' | 'draining' | 'stopped';

/** What /status answers and `sheaf status` shows. */
export interface GatewayStatus {
  version: string;
  pid: number;
  state: GatewayState;
  /** ISO 8601. */
  startedAt: string;
  uptimeSeconds: number;
  listen: string;
  alpn: readonly string[];
  certificate: { development: boolean; sha256: string; expiry: string };
  requestsActive: number;
  requestsTotal: number;
  tcpConnections: number;
  webTransportSessions: number;
  routes: { route: string; target: string; upstreams?: UpstreamStatus[] }[];
  connections: ConnectionStatus[];
  /** Absent while the transport is not up. */
  transport?: TransportCounters;
}
