import type { ListenAddress } from '../configuration/scalars.js';
import type { RouteOptions } from '../routing/options.js';

const wildcards = new Set(['::', '0.0.0.0']);

/** Whether the address stands for every address of the machine. */
export function isWildcard(address: string): boolean {
  return wildcards.has(address);
}

/** The names and addresses that clients of these nodes may ask for. */
export function certificateNames(nodes: readonly { listen: ListenAddress; routes?: readonly RouteOptions[] }[]): string[] {
  const own = nodes.flatMap(({ listen, routes = [] }) => [
    ...(isWildcard(listen.address) ? [] : [listen.address]),
    ...routes.flatMap((route) => route.host ?? []).filter((host) => !host.startsWith('[')),
  ]);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...own])];
}
