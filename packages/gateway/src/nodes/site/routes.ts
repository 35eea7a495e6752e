import type { Logger } from 'pino';
import type { NodeConfiguration } from '../../schema/node.js';
import { deliveryOrder, type Delivery } from '../../schema/delivery.js';
import type { MediaRoute, MediaRouteOptions } from '../../media/media_route.js';
import type { RouteOptions } from '../../schema/routes.js';
import type { BackendConfiguration } from '../../schema/backends.js';
import { StaticFiles } from '../../targets/files/static_files.js';
import type { Target } from '../../http/exchange.js';
import type { RouteStatus } from '../../observability/status.js';
import { compileRoute, type Route } from '../../http/router.js';
import type { UpstreamGroup, UpstreamStatus } from '../../targets/upstream/upstream_group.js';
import { loadApplication } from '../../targets/webtransport/application.js';
import { isOriginAllowed } from '../../targets/webtransport/page.js';
import type { SessionTarget } from '../../targets/webtransport/session_server.js';

export interface CompiledRoutes {
  requests: Route<Target>[];
  sessions: Route<SessionTarget>[];
  /** The servers behind routes with upstreams, by the position of the route in the configuration */
  upstreams: ReadonlyMap<number, UpstreamGroup>;
  /** Routes whose broadcasts a channel carries, by the name of the channel */
  carried: ReadonlyMap<string, MediaRoute>;
}

type RouteSource = Pick<NodeConfiguration | BackendConfiguration, 'routes' | 'limits'>;

/**
 * Creates the targets of the routes. `toBackends` returns a target that proxies to backends. @throws UserError when an
 * application cannot be loaded
 */
export async function compileRoutes(
  node: RouteSource,
  log: Logger,
  toBackends?: (backends: readonly string[], delivery: readonly Delivery[]) => Target,
): Promise<CompiledRoutes> {
  const upstreams = new Map<number, UpstreamGroup>();
  const carried = new Map<string, MediaRoute>();
  const compiled: CompiledRoutes = { requests: [], sessions: [], upstreams, carried };
  for (const [index, route] of node.routes.entries()) {
    if (route.files) compiled.requests.push(compileRoute(route, index, new StaticFiles(route.files)));
    if (route.upstream) {
      const group = await openUpstream(route.upstream, node.limits.body_size, log);
      upstreams.set(index, group);
      compiled.requests.push(compileRoute(route, index, group));
    }
    if (route.backends && toBackends) {
      const target = toBackends(route.backends, deliveryOrder(route.delivery));
      compiled.requests.push(compileRoute(route, index, target));
    }
    if (route.media) {
      const { channel } = route.media;
      const media = await compileMedia(route, index, route.media, compiled);
      if (channel !== undefined) carried.set(channel, media);
    }
    if (route.webtransport) {
      const { application, origins } = route.webtransport;
      const target: SessionTarget = {
        application: await loadApplication(application, log),
        isOriginAllowed: sessionOrigins(origins),
      };
      compiled.sessions.push(compileRoute(route, index, target));
    }
  }
  return compiled;
}

/** Adds a route to broadcasts, whose code is loaded only where a route needs it. */
export async function compileMedia(
  route: Pick<RouteOptions, 'path' | 'host'>,
  index: number,
  options: MediaRouteOptions,
  { requests, sessions }: Pick<CompiledRoutes, 'requests' | 'sessions'>,
): Promise<MediaRoute> {
  const { MediaRoute } = await import('../../media/media_route.js');
  const media = new MediaRoute(options);
  requests.push(compileRoute(route, index, media));
  sessions.push(compileRoute(route, index, { ...media.sessions, isOriginAllowed: sessionOrigins(options.origins) }));
  return media;
}

/** Loads the client of HTTP/1.1 only where a route needs it. Loading it takes a sixth of the time that a start takes. */
async function openUpstream(...options: Parameters<typeof UpstreamGroup.open>): Promise<UpstreamGroup> {
  const { UpstreamGroup } = await import('../../targets/upstream/upstream_group.js');
  return UpstreamGroup.open(...options);
}

/**
 * Returns the rule for which origins may open sessions. Pages of other sites run in browsers of people who are logged in here.
 * Clients that are not browsers send no origin.
 */
function sessionOrigins(origins: readonly string[] | undefined): SessionTarget['isOriginAllowed'] {
  if (!origins) return (origin, authority) => origin === undefined || isOriginAllowed(origin, authority);
  return (origin) => origins.includes('*') || (origin !== undefined && origins.includes(origin));
}

/** Describes the target of a route in a few words for the status. */
function describeTarget(route: NodeConfiguration['routes'][number]): string {
  if (route.files) return `files ${route.files.root}`;
  if (route.upstream) return `upstream ${route.upstream.to.map((origin) => origin.origin).join(', ')}`;
  if (route.channel !== undefined) return `channel ${route.channel}`;
  if (route.connect_udp) return 'tunnels for UDP';
  if (route.connect ?? route.connect_tcp) return 'tunnels for TCP';
  if (route.backends)
    return `backends ${route.backends.join(', ')} (${[route.delivery ?? 'direct'].flat().join(', ')})`;
  if (route.media) return route.media.channel === undefined ? 'media' : `media, to channel ${route.media.channel}`;
  return `webtransport ${route.webtransport?.application ?? ''}`;
}

/** Returns a node's routes for its status. */
export function reportRoutes(node: RouteSource, compiled: CompiledRoutes): RouteStatus[] {
  return node.routes.map((route, index) => ({
    route: route.path,
    target: describeTarget(route),
    ...(route.upstream ? { upstreams: compiled.upstreams.get(index)?.status() ?? [] } : {}),
  }));
}

export function allUpstreams(compiled: CompiledRoutes): UpstreamStatus[] {
  return [...compiled.upstreams.values()].flatMap((group) => group.status());
}

/** Starts the targets of the routes. Resolves with their warnings. */
export async function startRoutes(compiled: CompiledRoutes): Promise<string[]> {
  const warnings = await Promise.all(compiled.requests.map(async ({ answer }) => (await answer.start?.()) ?? []));
  return warnings.flat();
}

/** Rereads what may have changed outside of the configuration. */
export async function refreshRoutes(compiled: CompiledRoutes): Promise<void> {
  await Promise.all(compiled.requests.map(async ({ answer }) => answer.refresh?.()));
}
