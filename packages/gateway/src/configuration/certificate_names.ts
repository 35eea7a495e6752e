import { eachAddress, isWildcard, type ListenAddresses } from '../values/scalars.js';
import type { PublicAddress } from '../schema/reach.js';
import type { RouteOptions } from '../schema/routes.js';

/** Returns the names and addresses that clients of these nodes may ask for. */
export function certificateNames(
  nodes: readonly {
    listen: ListenAddresses;
    routes?: readonly RouteOptions[];
    public_url?: PublicAddress | undefined;
  }[],
): string[] {
  const own = nodes.flatMap(({ listen, routes = [], public_url: url }) => [
    ...(url ? [url.host.replace(/^\[|\]$/g, '')] : []),
    // A zone (RFC 4007 §6) means something on this machine only, so no certificate names it.
    ...eachAddress(listen)
      .filter(({ address }) => !isWildcard(address))
      .map(({ address }) => address.replace(/%.*/, '')),
    ...routes.flatMap((route) => route.host ?? []).filter((host) => !host.startsWith('[')),
  ]);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...own])];
}
