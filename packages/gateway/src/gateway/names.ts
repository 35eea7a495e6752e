import type { NodeConfiguration } from '../configuration/node.js';

const wildcards = new Set(['::', '0.0.0.0']);

/** Whether the address stands for every address of the machine. */
export function isWildcard(address: string): boolean {
  return wildcards.has(address);
}

/** The names and addresses that clients of this node may ask for. */
export function certificateNames({ listen, routes }: NodeConfiguration): string[] {
  const hosts = routes.flatMap((route) => route.host ?? []).filter((host) => !host.startsWith('['));
  return [...new Set(['localhost', '127.0.0.1', '::1', ...(isWildcard(listen.address) ? [] : [listen.address]), ...hosts])];
}
