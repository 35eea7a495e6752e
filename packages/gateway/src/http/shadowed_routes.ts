import { tunnelKeys, type RouteOptions } from '../schema/routes.js';
import { compileRoute, type Route } from './router.js';

/** A route that no request reaches, and the earlier route that answers all of its requests */
export interface ShadowedRoute {
  index: number;
  by: number;
}

/** Finds routes that no request reaches. Sessions, channels, tunnels and requests are each compared with their own kind. */
export function shadowedRoutes(routes: readonly RouteOptions[]): ShadowedRoute[] {
  const compiled = routes.map((route, index) => compileRoute(route, index, kindOf(route)));
  return compiled.flatMap((route) => {
    const before = compiled
      .slice(0, route.index)
      .find((earlier) => earlier.answer === route.answer && covers(earlier, route));
    return before ? [{ index: route.index, by: before.index }] : [];
  });
}

function kindOf(route: RouteOptions): string {
  return (['webtransport', 'channel', ...tunnelKeys] as const).find((key) => route[key] !== undefined) ?? 'request';
}

function covers(earlier: Route<unknown>, later: Route<unknown>): boolean {
  const hosts =
    !earlier.hosts ||
    (later.hosts?.every((host) => earlier.hosts?.some((pattern) => coversHost(pattern, host))) ?? false);
  const methods = !earlier.methods || (later.methods?.every((method) => earlier.methods?.includes(method)) ?? false);
  return hosts && methods && (later.prefix === earlier.prefix || later.prefix.startsWith(`${earlier.prefix}/`));
}

function coversHost(pattern: string, host: string): boolean {
  return (
    pattern === host ||
    (pattern.startsWith('*.') && host.replace(/^\*/, '').endsWith(pattern.slice(1)) && host !== pattern.slice(2))
  );
}
