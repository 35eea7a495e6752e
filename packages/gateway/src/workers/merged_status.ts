import type { BackendHealth, LinkStatus } from '../observability/backend_report.js';
import type {
  BackendNodeStatus,
  EdgeMediaStatus,
  EdgeStatus,
  ForwardingStatus,
  FrontNodeStatus,
  FrontStatus,
  GatewayBackend,
  GatewayLinkStatus,
  GatewayStatus,
  LifeStatus,
  RouteStatus,
  WorkerStatus,
} from '../observability/status.js';
import type { UpstreamStatus } from '../targets/upstream/upstream_group.js';
import { meanOf, sumOf } from './sums.js';

type Some<Value> = readonly [Value, ...Value[]];

/** What the main thread knows itself */
export interface OwnStatus {
  life: LifeStatus;
  workers: WorkerStatus[];
  steering: NonNullable<FrontStatus['steering']>;
  forwarding?: ForwardingStatus;
}

/** Returns the status of a node of those of its workers. */
export function mergeStatus(all: Some<FrontNodeStatus>, own: OwnStatus): FrontNodeStatus {
  const gateways = all.filter((status) => status.role === 'gateway');
  const backends = all.filter((status) => status.role === 'backend');
  const edges = all.filter((status) => status.role === 'edge');
  if (isSome(gateways)) return { ...mergeFronts(gateways, own), ...mergeGateways(gateways) };
  if (isSome(backends)) return { ...mergeFronts(backends, own), ...mergeBackendNodes(backends) };
  if (isSome(edges)) return { ...mergeFronts(edges, own), ...mergeEdges(edges) };
  throw new Error('there is no status');
}

const isSome = <Value>(values: readonly Value[]): values is Some<Value> => values.length > 0;

/** What status of one role has beside that of its listeners */
type Beside<Status extends FrontStatus> = Omit<Status, keyof FrontStatus>;

function mergeFronts(all: Some<FrontStatus>, { life, ...own }: OwnStatus): FrontStatus {
  const [{ certificate, ...first }] = all;
  const transports = all.flatMap(({ transport }) => transport ?? []);
  const sum = (read: (status: FrontStatus) => number): number => all.reduce((total, each) => total + read(each), 0);
  return {
    ...first,
    ...life,
    certificate,
    requestsActive: sum(({ requestsActive }) => requestsActive),
    requestsTotal: sum(({ requestsTotal }) => requestsTotal),
    tcpConnections: sum(({ tcpConnections }) => tcpConnections),
    limitHits: sumOf(all.map(({ limitHits }) => limitHits) as [Record<string, number>]),
    webTransportSessions: sum(({ webTransportSessions }) => webTransportSessions),
    connections: all.flatMap(({ connections }) => connections),
    ...(isSome(transports) && { transport: sumOf(transports) }),
    ...own,
  };
}

function mergeGateways(all: Some<GatewayStatus>): Beside<GatewayStatus> {
  const [{ role, backends: known }] = all;
  const tunnels = all.flatMap((status) => status.tunnels ?? []);
  const tcpTunnels = all.flatMap((status) => status.tcpTunnels ?? []);
  const responseMs = meanOf(tunnels.map((each) => each.responseMs));
  const channels = all.flatMap((status) => status.channels ?? []);
  const openingMs = meanOf(tcpTunnels.map((each) => each.openingMs));
  return {
    role,
    routes: mergeRoutes(all.map(({ routes }) => routes)),
    ...(isSome(channels) && { channels }),
    ...(isSome(tunnels) && { tunnels: { ...sumOf(tunnels), ...(responseMs !== undefined && { responseMs }) } }),
    ...(isSome(tcpTunnels) && { tcpTunnels: { ...sumOf(tcpTunnels), ...(openingMs !== undefined && { openingMs }) } }),
    ...(known && { backends: mergeBackends(all.map(({ backends = [] }) => backends)) }),
  };
}

function mergeBackendNodes(all: Some<BackendNodeStatus>): Beside<BackendNodeStatus> {
  const [{ role, primary: gateway }] = all;
  const returns = all.flatMap((status) => status.return ?? []);
  return {
    role,
    primary: { ...gateway, connected: all.some(({ primary }) => primary.connected) },
    serving: all.every(({ serving }) => serving),
    guests: all.reduce((sum, { guests }) => sum + guests, 0),
    routes: mergeRoutes(all.map(({ routes }) => routes)),
    ...(isSome(returns) && { return: sumOf(returns) }),
  };
}

function mergeEdges(all: Some<EdgeStatus>): Beside<EdgeStatus> {
  const [{ role }] = all;
  const media = all.flatMap((status) => (status.media ? [status.media] : []));
  return {
    role,
    gateway: mergeLinks(all.map(({ gateway }) => gateway) as [GatewayLinkStatus]),
    ...(isSome(media) && { media: mergeMedia(media) }),
  };
}

/** The states of a way to a gateway, first what an operator should see of several ones */
const linkStates: readonly GatewayLinkStatus['state'][] = ['waiting', 'open', 'connecting', 'idle'];

function mergeLinks(all: Some<GatewayLinkStatus>): GatewayLinkStatus {
  const byState = linkStates.flatMap((state) => all.filter((link) => link.state === state));
  return {
    ...(byState[0] ?? all[0]),
    opened: all.reduce((sum, { opened }) => sum + opened, 0),
    connections: all.flatMap(({ connections }) => connections),
  };
}

/** One worker is in the channels, and the others have copies of what they bring. */
function mergeMedia(all: Some<EdgeMediaStatus[]>): EdgeMediaStatus[] {
  return all[0].map((first, index) => {
    const views = all.flatMap((media) => media[index] ?? []);
    const joined = views.find((view) => view.joined > 0) ?? first;
    return { ...joined, viewers: views.reduce((sum, { viewers }) => sum + viewers, 0) };
  });
}

/** Threads run by the same routes, or differ for a moment while the configuration changes. */
function mergeRoutes(all: readonly RouteStatus[][]): RouteStatus[] {
  return (all[0] ?? []).map((route, index) => {
    const alike = all.flatMap((routes) => {
      const other = routes[index];
      return other?.target === route.target && other.upstreams ? [other.upstreams] : [];
    });
    return route.upstreams ? { ...route, upstreams: mergeUpstreams(alike) } : route;
  });
}

/** A server is down as soon as one thread finds it down, since this concerns the clients of that thread. */
function mergeUpstreams(all: readonly UpstreamStatus[][]): UpstreamStatus[] {
  return (all[0] ?? []).map((first, index) => {
    const views = all.flatMap((upstreams) => upstreams[index] ?? []);
    const { up, since, reason, origin } = views.find((view) => !view.up) ?? first;
    const counted = isSome(views) ? sumOf(views) : first;
    return {
      ...counted,
      origin,
      up,
      ...(since !== undefined && { since }),
      ...(reason !== undefined && { reason }),
    };
  });
}

/** The states of a backend, the worst first */
const severity: readonly BackendHealth[] = ['lost', 'unhealthy', 'joining', 'draining', 'serving'];

function mergeBackends(all: readonly GatewayBackend[][]): GatewayBackend[] {
  return (all[0] ?? []).map((first) => {
    const views = all.flatMap((backends) => backends.find(({ name }) => name === first.name) ?? []);
    const total = (read: (backend: GatewayBackend) => number): number =>
      views.reduce((sum, view) => sum + read(view), 0);
    // The backend says the same to each thread that asks.
    const most = (read: (backend: GatewayBackend) => number): number => Math.max(...views.map(read));
    const runs = views.flatMap((view) => view.runs ?? []);
    return {
      ...first,
      state: severity.find((state) => views.some((view) => view.state === state)) ?? first.state,
      backbone: worstLink(views.map(({ backbone }) => backbone)) ?? first.backbone,
      connections: total(({ connections }) => connections),
      load: meanOf(views.map(({ load }) => load)) ?? 0,
      requestsActive: most(({ requestsActive }) => requestsActive),
      bytesSent: most(({ bytesSent }) => bytesSent),
      bytesReceived: most(({ bytesReceived }) => bytesReceived),
      proxied: total(({ proxied }) => proxied),
      returning: total(({ returning }) => returning),
      returns: views.every(({ returns }) => returns),
      ...(isSome(runs) && { runs: worstLink(runs)! }),
      deliveries: sumOf(views.map(({ deliveries }) => deliveries) as [GatewayBackend['deliveries']]),
    };
  });
}

function worstLink(links: readonly LinkStatus[]): LinkStatus | undefined {
  return links.find(({ state }) => state !== 'open') ?? links[0];
}
