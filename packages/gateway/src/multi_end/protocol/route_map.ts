import { createHash } from 'node:crypto';
import { z } from 'zod';
import { headerValue, type Exchange, type Target } from '../../http/exchange.js';
import { respondText, setHead } from '../../http/respond.js';
import { deliveryOrder } from '../../schema/delivery.js';
import { hasTunnels, type RouteOptions } from '../../schema/routes.js';
import { maxBackendId } from '../../schema/backends.js';

/** Header on responses of a gateway: the version of its route map, in quotes */
export const routesHeader = 'sheaf-routes';
/** Header on responses of a backend to its clients: the share of the time in which it was busy, from 0 to 1 */
export const loadHeader = 'sheaf-load';

const maxRoutes = 1_000;
const texts = z.array(z.string().max(256)).max(100);

/** The route map that clients get: for every route, in order, the backends that answer it themselves */
export const routeMapSchema = z.object({
  version: z.string().min(1).max(64),
  routes: z
    .array(
      z.object({
        path: z.string().startsWith('/').max(4_096),
        host: texts.optional(),
        methods: texts.optional(),
        /** Empty when the gateway answers */
        backends: z.array(z.number().int().min(0).max(maxBackendId)).max(maxBackendId + 1),
      }),
    )
    .max(maxRoutes),
});

export type RouteMap = z.output<typeof routeMapSchema>;

/**
 * Describes routes for clients. As at the gateway, the first matching route decides, so routes that the gateway answers
 * itself are in the map, too.
 */
export function describeRoutes(
  routes: readonly RouteOptions[],
  idOf: (backend: string) => number | undefined,
): RouteMap {
  const described = routes
    // Sessions, channels and tunnels are asked for with CONNECT, which no backend answers.
    .filter((route) => route.webtransport === undefined && route.channel === undefined && !hasTunnels(route))
    .map(({ path, host, methods, backends = [], delivery }) => ({
      path,
      ...(host ? { host } : {}),
      ...(methods ? { methods } : {}),
      backends: deliveryOrder(delivery).includes('path') ? backends.flatMap((backend) => idOf(backend) ?? []) : [],
    }));
  const version = createHash('sha256').update(JSON.stringify(described)).digest('base64url').slice(0, 12);
  return { version, routes: described };
}

/** Time in seconds for which clients keep a route map. Every response tells its version. */
const keptSeconds = 60;

/** Serves the route map of a gateway to its clients. */
export class RouteMapResource implements Target {
  readonly #map: () => RouteMap;

  constructor(map: () => RouteMap) {
    this.#map = map;
  }

  handle(exchange: Exchange): Promise<void> {
    const map = this.#map();
    const etag = `"${map.version}"`;
    const headers = { etag, 'cache-control': `max-age=${keptSeconds}` };
    if (headerValue(exchange.request.headers, 'if-none-match') === etag) {
      setHead(exchange, 304, headers);
      exchange.response.end();
    } else {
      respondText(exchange, 200, `${JSON.stringify(map)}\n`, { 'content-type': 'application/json', ...headers });
    }
    return Promise.resolve();
  }
}
