import type { ConnectionStatus, TransportCounters } from '@sheaf/native';
import type { BackendReport } from './backend_report.js';
import type { UpstreamStatus } from '../targets/upstream/upstream_group.js';

export type NodeState = 'starting' | 'serving' | 'draining' | 'stopped';

/** What every node says about its listeners. */
export interface FrontStatus {
  version: string;
  pid: number;
  /** Name of the node. */
  node: string;
  state: NodeState;
  /** ISO 8601. */
  startedAt: string;
  uptimeSeconds: number;
  listen: string;
  /** Where clients find it, when that is told. */
  publicUrl?: string;
  alpn: readonly string[];
  certificate: { development: boolean; sha256: string; expiry: string };
  requestsActive: number;
  requestsTotal: number;
  tcpConnections: number;
  /** How often which bound was met (docs/reference/limits.md). */
  limitHits: Record<string, number>;
  webTransportSessions: number;
  /** Connections of clients. */
  connections: ConnectionStatus[];
  /** Absent while the transport is not up. */
  transport?: TransportCounters;
}

export interface RouteStatus {
  route: string;
  target: string;
  upstreams?: UpstreamStatus[];
}

export interface GatewayStatus extends FrontStatus {
  role: 'gateway';
  routes: RouteStatus[];
  /** Of a gateway that has backends. */
  backends?: BackendReport[];
}

export interface BackendNodeStatus extends FrontStatus {
  role: 'backend';
  /** Its gateway, and whether that is connected. */
  primary: { name: string; connected: boolean };
  /** False while it drains. */
  serving: boolean;
  /** Connections of the gateway's clients; `connections` has them, too. */
  guests: number;
  routes: RouteStatus[];
}

/** An edge's way to its gateway. */
export interface GatewayLinkStatus {
  /** Host and port. */
  address: string;
  /** `idle`: nobody needed it yet. `waiting`: it failed, and is tried again for the next request after a pause. */
  state: 'idle' | 'connecting' | 'open' | 'waiting';
  /** Why the latest attempt failed or the latest connection ended. */
  reason?: string;
  /** Connections that were opened so far. */
  opened: number;
  connection?: ConnectionStatus;
}

export interface EdgeStatus extends FrontStatus {
  role: 'edge';
  gateway: GatewayLinkStatus;
}

/** What /status answers and `sheaf status` shows. */
export type NodeStatus = GatewayStatus | BackendNodeStatus | EdgeStatus;
