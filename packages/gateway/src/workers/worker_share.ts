import type { Limits } from '../schema/limits.js';
import type { RouteOptions } from '../schema/routes.js';
import type { LoadedServer } from '../schema/loaded.js';

/**
 * Limits of a whole node of which each worker has an equal part: those of what a worker takes back from clients of its own. The others are those of one connection, one request or one time, or workers count them together.
 */
const totals = ['memory', 'slow_responses'] as const satisfies readonly (keyof Limits)[];

/** Exchanges that can be slow at a time, at least: one network gets half of what is free. */
const leastSlow = 2;

/** Returns what one of several workers runs by: its share of the limits, and nothing that the main thread has for all. */
export function shareOf<Loaded extends LoadedServer>(loaded: Loaded, workers: number): Loaded {
  const share = (total: number): number => Math.ceil(total / workers);
  const { node } = loaded;
  const limits = { ...node.limits };
  for (const key of totals) limits[key] = share(limits[key]);
  limits.slow_responses = Math.max(leastSlow, limits.slow_responses);
  // A single connection may need all of that.
  limits.memory = Math.max(limits.memory, limits.connection_memory);
  const routes = 'routes' in node && { routes: node.routes.map((route) => shareOfRoute(route, share)) };
  return { ...loaded, node: { ...node, admin: undefined, limits, ...routes } };
}

function shareOfRoute(route: RouteOptions, share: (total: number) => number): RouteOptions {
  const { upstream } = route;
  if (!upstream) return route;
  return {
    ...route,
    upstream: { ...upstream, connections: share(upstream.connections), queue: share(upstream.queue) },
  };
}
