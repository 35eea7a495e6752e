import { parseRequestTarget, withDecodedSlashes } from './request_target.js';
import type { RouteOptions } from '../schema/routes.js';

/** A route whose matching rules are prepared for comparison */
export interface Route<Answer> {
  /** Position in the configuration */
  index: number;
  /** Name of the route in logs and metrics */
  label: string;
  answer: Answer;
  hosts: readonly string[] | undefined;
  methods: readonly string[] | undefined;
  /** Path prefix without a slash at the end; empty for `/` */
  prefix: string;
}

export type RouteMatch<Answer> =
  | { found: true; route: Route<Answer>; rest: string }
  /**
   * `allow`: methods of the routes with this path, empty when there is no such route. `ambiguous`: the path may belong
   * to two routes.
   */
  | { found: false; allow: string[]; ambiguous?: true };

export interface RouteQuery {
  host: string;
  /** Path in its normal form: `routed` of the request target */
  pathname: string;
  method: string;
}

/** Names a route by what it matches. */
export function routeLabel({ methods, host, path }: Pick<RouteOptions, 'methods' | 'host' | 'path'>): string {
  return `${methods ? `${methods.join(',')} ` : ''}${host?.join(',') ?? ''}${path}`;
}

export function compileRoute<Answer>(options: RouteOptions, index: number, answer: Answer): Route<Answer> {
  return {
    index,
    label: routeLabel(options),
    answer,
    hosts: options.host?.map((name) => name.toLowerCase()),
    methods: options.methods,
    prefix: (parseRequestTarget(options.path)?.routed ?? options.path).replace(/\/+$/, ''),
  };
}

/**
 * Finds the first route, in the order of the configuration, that matches host, path and method. Finds none when a
 * server that decodes slashes would see the path of another route: `/public/..%2fapi` must not bypass the rules of
 * `/api`.
 */
export function findRoute<Answer>(routes: readonly Route<Answer>[], query: RouteQuery): RouteMatch<Answer> {
  const match = firstRoute(routes, query);
  const decoded = withDecodedSlashes(query.pathname);
  if (decoded === undefined) return match;
  const other = firstRoute(routes, { ...query, pathname: decoded });
  const same = match.found === other.found && (!match.found || !other.found || match.route === other.route);
  return same ? match : { found: false, allow: [], ambiguous: true };
}

function firstRoute<Answer>(routes: readonly Route<Answer>[], query: RouteQuery): RouteMatch<Answer> {
  let host: string | undefined;
  const allow = new Set<string>();
  for (const route of routes) {
    if (route.hosts && !matchesHost(route.hosts, (host ??= hostName(query.host)))) continue;
    const rest = restOfPath(route.prefix, query.pathname);
    if (rest === undefined) continue;
    if (!route.methods || route.methods.includes(query.method)) return { found: true, route, rest };
    for (const method of route.methods) allow.add(method);
  }
  return { found: false, allow: [...allow] };
}

/** Normalizes a host name: `Example.com:443` becomes `example.com`, `[::1]:443` becomes `[::1]`. */
export function hostName(authority: string): string {
  return authority.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}

function matchesHost(hosts: readonly string[], host: string): boolean {
  return hosts.some((pattern) =>
    pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1 : host === pattern,
  );
}

/** Compares segment by segment: `/api` contains `/api` and `/api/x`, but not `/apis`. */
function restOfPath(prefix: string, pathname: string): string | undefined {
  if (prefix === '') return pathname;
  if (!pathname.startsWith(prefix)) return undefined;
  const rest = pathname.slice(prefix.length);
  if (rest === '') return '/';
  return rest.startsWith('/') ? rest : undefined;
}
