import type { Logger } from 'pino';
import type { NodeConfiguration } from '../../schema/node.js';
import { deliveryOrder, type Delivery } from '../../schema/delivery.js';
import type { MediaRoute, MediaRouteOptions, RouteSharing } from '../../media/media_route.js';
import type { RouteOptions } from '../../schema/routes.js';
import type { BackendConfiguration } from '../../schema/backends.js';
import { StaticFiles } from '../../targets/files/static_files.js';
import type { Target } from '../../http/exchange.js';
import type { RouteStatus } from '../../observability/status.js';
import { compileRoute, type Route } from '../../http/router.js';
import type { UpstreamGroup, UpstreamStatus } from '../../targets/upstream/upstream_group.js';
import { loadApplication } from '../../targets/webtransport/application.js';
import { isOriginAllowed } from '../../targets/webtransport/page.js';
import type { WorkerLinks } from '../../worker_links/worker_links.js';
import type { SessionTarget } from '../../targets/webtransport/session_server.js';
import { Targets } from './targets.js';

export interface CompiledRoutes {
  requests: Route<Target>[];
  sessions: Route<SessionTarget>[];
  /** The servers behind routes with upstreams, by the position of the route in the configuration */
  upstreams: ReadonlyMap<number, UpstreamGroup>;
  /** Routes whose broadcasts a channel carries, by the name of the channel */
  carried: ReadonlyMap<string, MediaRoute>;
  targets: Targets;
}

type RouteSource = Pick<NodeConfiguration | BackendConfiguration, 'routes' | 'limits'>;

export interface RoutesOptions {
  node: RouteSource;
  log: Logger;
  /** Returns a target that proxies to backends. */
  toBackends?: ((backends: readonly string[], delivery: readonly Delivery[]) => Target) | undefined;
  /** Ways to the other workers of this node */
  links?: WorkerLinks | undefined;
  /** Targets of the configuration that this one replaces */
  before?: Targets | undefined;
}

/** Creates the targets of the routes. @throws UserError when an application cannot be loaded */
export async function compileRoutes(options: RoutesOptions): Promise<CompiledRoutes> {
  const targets = new Targets(options.before);
  const compiled: Compiling = { requests: [], sessions: [], upstreams: new Map(), carried: new Map(), targets };
  try {
    for (const [index, route] of options.node.routes.entries()) await addRoute(route, index, compiled, options);
    return compiled;
  } catch (error) {
    await targets.abandon();
    throw error;
  }
}

interface Compiling extends CompiledRoutes {
  upstreams: Map<number, UpstreamGroup>;
  carried: Map<string, MediaRoute>;
}

async function addRoute(
  route: RouteOptions,
  index: number,
  compiled: Compiling,
  { node, log, links, toBackends }: RoutesOptions,
): Promise<void> {
  const { requests, sessions, upstreams, carried, targets } = compiled;
  const { files, upstream, backends, media, webtransport } = route;
  if (files)
    requests.push(compileRoute(route, index, await targets.take('files', files, () => new StaticFiles(files))));
  if (upstream) {
    const bodySize = node.limits.body_size;
    const group = await targets.take('upstream', { upstream, bodySize }, () => openUpstream(upstream, bodySize, log));
    upstreams.set(index, group);
    requests.push(compileRoute(route, index, group));
  }
  if (backends && toBackends)
    requests.push(compileRoute(route, index, toBackends(backends, deliveryOrder(route.delivery))));
  if (media) {
    const target = await targets.take('media', media, (use) => openMedia(media, links && { links, use, log }));
    addMedia(route, index, target, media.origins, compiled);
    if (media.channel !== undefined) carried.set(media.channel, target);
  }
  if (webtransport) {
    const { application, origins } = webtransport;
    const loaded = await loadApplication(application, log);
    sessions.push(compileRoute(route, index, { application: loaded, isOriginAllowed: sessionOrigins(origins) }));
  }
}

/** Opens a route to broadcasts, whose code is loaded only where a route needs it. */
export async function openMedia(options: MediaRouteOptions, sharing?: RouteSharing): Promise<MediaRoute> {
  const { MediaRoute } = await import('../../media/media_route.js');
  return new MediaRoute(options, sharing);
}

/** Adds a route to broadcasts: for requests, and for sessions from pages of these origins. */
export function addMedia(
  route: Pick<RouteOptions, 'path' | 'host'>,
  index: number,
  media: MediaRoute,
  origins: readonly string[] | undefined,
  { requests, sessions }: Pick<CompiledRoutes, 'requests' | 'sessions'>,
): void {
  requests.push(compileRoute(route, index, media));
  sessions.push(compileRoute(route, index, { ...media.sessions, isOriginAllowed: sessionOrigins(origins) }));
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

/** Rereads what may have changed outside of the configuration. */
export async function refreshRoutes(compiled: CompiledRoutes): Promise<void> {
  await Promise.all(compiled.requests.map(async ({ answer }) => answer.refresh?.()));
}
