import { parseRequestTarget } from '../http/request_target.js';
import { compileRoute, findRoute, type Route } from '../http/router.js';
import type { RouteOptions } from '../schema/routes.js';
import type { AccessOptions } from '../schema/tunnels.js';
import { Access, type AccessParts } from './access.js';
import { Refusal } from './refusal.js';
import { parseTarget, type Target } from './target_rules.js';

/** A route with tunnels */
export interface TunnelRoute<Options extends AccessOptions> {
  options: Options;
  access: Access;
  index: number;
}

/** Routes of one kind whose targets stand in the path of a request (RFC 9298 §2) */
export class TunnelRoutes<Options extends AccessOptions> {
  readonly #routes: Route<TunnelRoute<Options>>[];

  /** `optionsOf`: of a route, if it is of this kind. @throws UserError when the users of a route cannot be read */
  static async open<Options extends AccessOptions>(
    routes: readonly RouteOptions[],
    optionsOf: (route: RouteOptions) => Options | undefined,
    parts: AccessParts,
  ): Promise<TunnelRoutes<Options>> {
    const opened = await Promise.all(
      routes.map(async (route, index) => {
        const options = optionsOf(route);
        if (!options) return [];
        const access = await Access.open(options, parts, route);
        return [compileRoute(route, index, { options, access, index })];
      }),
    );
    return new TunnelRoutes(opened.flat());
  }

  private constructor(routes: Route<TunnelRoute<Options>>[]) {
    this.#routes = routes;
  }

  get isEmpty(): boolean {
    return this.#routes.length === 0;
  }

  /** Returns the route and the target of a request for `url` at the host `authority`. @throws Refusal */
  find(url: string, authority: string): { route: TunnelRoute<Options>; target: Target } {
    const pathname = parseRequestTarget(url)?.routed;
    if (pathname === undefined) throw new Refusal(400);
    const match = findRoute(this.#routes, { host: authority, pathname, method: 'CONNECT' });
    if (!match.found) throw new Refusal(match.ambiguous ? 400 : this.#statusOfAbsence(authority, pathname));
    const target = parseTarget(match.rest);
    if (!target) throw new Refusal(400);
    return { route: match.route.answer, target };
  }

  /** RFC 9110 §15.5.20: a proxy of another host is not this one. */
  #statusOfAbsence(host: string, pathname: string): 404 | 421 {
    const anyHost = this.#routes.map((route) => ({ ...route, hosts: undefined }));
    return findRoute(anyHost, { host, pathname, method: 'CONNECT' }).found ? 421 : 404;
  }
}
