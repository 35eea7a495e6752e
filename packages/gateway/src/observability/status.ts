import type {
  ChannelSourceStatus,
  ChannelState,
  ConnectionStatus,
  ExecutorStats,
  ReturnRecovery,
  ReturnWay,
  TransportCounters,
  TunnelTotals,
} from '@sheaf/native';
import type { ConfigurationStatus } from './configuration_report.js';
import type { UpgradeStatus } from './upgrade_report.js';
import type { RegistryStatus } from './registry_report.js';
import type { BackendReport } from './backend_report.js';
import type { BackendDeliveries } from './delivery_counts.js';
import type { UpstreamStatus } from '../targets/upstream/upstream_group.js';

export type NodeState = 'starting' | 'serving' | 'draining' | 'stopped';

/** Status that every node has */
export interface LifeStatus {
  version: string;
  pid: number;
  /** Name of the node */
  node: string;
  state: NodeState;
  /** ISO 8601 */
  startedAt: string;
  uptimeSeconds: number;
  /** Present where the configuration can be read again while the node runs */
  configuration?: ConfigurationStatus;
  /** Present where another process can take over from this one */
  upgrade?: UpgradeStatus;
  /** Present where the configuration has a registry */
  registry?: RegistryStatus;
}

/** `waiting`: it failed, and is started again after a pause. */
export type WorkerState = 'starting' | 'serving' | 'waiting' | 'stopped';

/** One of several threads that serve the clients of a node */
export interface WorkerStatus {
  /** Number of the worker, from 0 */
  worker: number;
  state: WorkerState;
  /** Time since which it is in this state, ISO 8601 */
  since: string;
  /** How often it was replaced */
  restarts: number;
  /** Why the latest one ended that was replaced */
  reason?: string;
  /** What it does now; absent while it does not serve */
  requestsActive?: number;
  tcpConnections?: number;
  quicConnections?: number;
  /** UDP datagrams of other workers that it got and passed on, those of its own that it took from others, and lost ones of the first */
  datagrams: { passedOn: number; taken: number; lost: number };
}

/** What a machine of a fleet passed on to others, and took from them, in datagrams since it started */
export interface ForwardingStatus {
  listen: string;
  /** Other machines that the registry knows, or knew until a short time ago */
  machines: number;
  /** Those of them that are lost: clients of their connections get stateless resets here */
  lostMachines: number;
  sent: number;
  /** Lost on the way to other machines: too many at one time, or the network refused them */
  dropped: number;
  received: number;
  /** Not sealed by a machine of the fleet for this one */
  refused: number;
}

/** Status of the listeners for clients of the web */
export interface FrontStatus extends LifeStatus {
  listen: string;
  /** Address where clients find the node, if one is configured */
  publicUrl?: string;
  alpn: readonly string[];
  certificate: { development: boolean; sha256: string; expiry: string };
  requestsActive: number;
  requestsTotal: number;
  tcpConnections: number;
  /** How often each bound was reached (docs/reference/limits.md) */
  limitHits: Record<string, number>;
  webTransportSessions: number;
  /** Connections of clients */
  connections: ConnectionStatus[];
  /** Absent before the transport is started */
  transport?: TransportCounters;
  /** Present where datagrams are passed on to other machines */
  forwarding?: ForwardingStatus;
  /** Present on a node with several workers. The rest of the status is that of all of them. */
  workers?: WorkerStatus[];
  /** How the system chooses the worker of a UDP datagram. With `addresses`, more have to be passed on. */
  steering?: 'ids' | 'addresses';
}

export interface RouteStatus {
  route: string;
  target: string;
  upstreams?: UpstreamStatus[];
}

/** A backend of a gateway, and how its responses travelled */
export type GatewayBackend = BackendReport & { deliveries: BackendDeliveries };

/** A channel of a gateway, and what its source did since its begin */
export interface ChannelStatus extends ChannelSourceStatus {
  name: string;
}

/** Tunnels of a gateway so far, and how their requests were answered */
export interface TunnelStatus extends TunnelTotals {
  /** Number of requests by status */
  answers: Record<string, number>;
}

/** Tunnels for TCP of a gateway so far */
export interface TcpTunnelStatus {
  /** Tunnels that are open now */
  open: number;
  bytesToTarget: number;
  bytesToClient: number;
  /** Smoothed time until a tunnel is open: of a gateway, until its target has accepted; of a tunnel node, with names and the way to the gateway */
  openingMs?: number;
  /** Number of requests by status */
  answers: Record<string, number>;
}

export interface GatewayStatus extends FrontStatus {
  role: 'gateway';
  routes: RouteStatus[];
  /** Present on a gateway with channels */
  channels?: ChannelStatus[];
  /** Present on a gateway with tunnels for UDP */
  tunnels?: TunnelStatus;
  /** Present on a gateway with tunnels for TCP */
  tcpTunnels?: TcpTunnelStatus;
  /** Present on a gateway with backends */
  backends?: GatewayBackend[];
}

export interface BackendNodeStatus extends FrontStatus {
  role: 'backend';
  /** Gateway of the backend, and whether it is connected */
  primary: { name: string; connected: boolean };
  /** False while the backend drains */
  serving: boolean;
  /** Connections of the gateway's clients, which `connections` contains as well */
  guests: number;
  /** Present where the backend may send from addresses of gateways */
  return?: ReturnStatus;
  routes: RouteStatus[];
}

/** What a backend sent from addresses of gateways since its start */
export interface ReturnStatus extends ExecutorStats {
  /** The addresses, each with a port */
  from: string[];
  via: ReturnWay;
  /** Node that numbers the packets, where the client permits it */
  recovery: ReturnRecovery;
  /** Gateways that are connected for it */
  sessions: number;
}

/** How a node is connected to its gateway */
export interface GatewayLinkStatus {
  /** Host and port */
  address: string;
  /** `idle`: no request needed a connection yet. `waiting`: it failed; after a pause, the next request opens it again. */
  state: 'idle' | 'connecting' | 'open' | 'waiting';
  /** Why the latest attempt failed, or why the latest connection ended */
  reason?: string;
  /** Number of connections that were opened so far */
  opened: number;
  /** The one in use, of each thread that has one */
  connections: ConnectionStatus[];
}

/** What an edge receives of a channel of its gateway */
export interface ChannelLinkStatus {
  /** Path of the channel at the gateway */
  channel: string;
  /** Where the edge listens. `waiting`: it is not in the channel, and joins after a pause. */
  state: ChannelState | 'waiting';
  /** Why the latest attempt failed, or why the channel was over */
  reason?: string;
  /** How often it has joined so far */
  joined: number;
  /** Packets that the group brought first */
  fromGroup: number;
  /** Packets that the connection to the gateway brought first */
  fromUnicast: number;
  /** Packets that repairs brought first */
  recovered: number;
  /** Share of the packets that the connection brought, 0 to 1 */
  unicastShare: number;
  /** Packets that were missing at some time: the loss before repair */
  lost: number;
  /** Those that did not come in time either: the loss after repair */
  expired: number;
  /** Segments of broadcasts that were not read to their ends */
  unreadable: number;
}

/** A route of an edge to broadcasts that a channel brings */
export interface EdgeMediaStatus extends ChannelLinkStatus {
  route: string;
  broadcasts: number;
  /** Open sessions */
  viewers: number;
}

export interface EdgeStatus extends FrontStatus {
  role: 'edge';
  gateway: GatewayLinkStatus;
  /** Present on an edge with `media` */
  media?: EdgeMediaStatus[];
}

/** Local ports of a tunnel node that one kind of program uses */
export interface TunnelListenerStatus {
  /** What is spoken there; `tcp` and `udp` lead to one target. */
  kind: 'socks5' | 'http' | 'tcp' | 'udp';
  listen: string;
  /** Host and port that it leads to */
  to?: string;
  /** Why a port of UDP is closed at the moment */
  reason?: string;
  /** Connections that are open now; of UDP, peers that have a tunnel */
  open: number;
  /** Connections that found no place, or that said nothing sensible */
  refused: number;
}

export interface TunnelNodeStatus extends LifeStatus {
  role: 'tunnel';
  gateway: GatewayLinkStatus;
  listeners: TunnelListenerStatus[];
  /** Tunnels for UDP. What goes to the target goes to the program here. */
  tunnels: TunnelStatus;
  tcpTunnels: TcpTunnelStatus;
}

/** Status of a node with clients of the web */
export type FrontNodeStatus = GatewayStatus | BackendNodeStatus | EdgeStatus;

/** The response of /status, which `sheaf status` shows */
export type NodeStatus = FrontNodeStatus | TunnelNodeStatus;
