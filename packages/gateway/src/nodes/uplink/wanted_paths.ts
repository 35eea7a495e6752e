import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { ListenAddress } from '../../values/scalars.js';
import type { UplinkConfiguration } from '../../schema/uplink.js';

/** A path that a node should have to its gateway */
export interface WantedPath {
  local: string;
  /** Remote address; default: the gateway's */
  remote?: ListenAddress | undefined;
  backup: boolean;
  /** Share of the node's traffic under the scheduler `weighted`; default: 1 */
  weight?: number | undefined;
}

/** Addresses that lead nowhere from here: addresses of this host alone, or of one link (RFC 3927, RFC 4291 §2.5.6) */
const unroutable = new BlockList();
unroutable.addSubnet('127.0.0.0', 8, 'ipv4');
unroutable.addAddress('::1', 'ipv6');
unroutable.addSubnet('169.254.0.0', 16, 'ipv4');
unroutable.addSubnet('fe80::', 10, 'ipv6');

const isUnroutable = (address: string): boolean => unroutable.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/**
 * Returns the paths to a gateway at this IP address. These are the configured ones, or with `auto` one from every
 * address of its family that this machine has now. A gateway on this machine needs no choice of paths.
 */
export function wantedPaths(
  paths: UplinkConfiguration['paths'],
  gateway: string,
  interfaces = networkInterfaces,
): WantedPath[] {
  if (paths !== 'auto') return paths;
  if (isUnroutable(gateway)) return [];
  return Object.values(interfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ address, internal }) => !internal && isIP(address) === isIP(gateway) && !isUnroutable(address))
    .map(({ address }) => ({ local: address, backup: false }));
}

/** Returns a key that differs for different paths. */
export function keyOf({ local, remote }: WantedPath): string {
  return remote ? `${local} ${remote.address} ${remote.port}` : local;
}

/** Returns the same paths, beginning with `first` if it is among them. */
export function startingWith(first: WantedPath | undefined, paths: readonly WantedPath[]): WantedPath[] {
  const isFirst = (path: WantedPath): boolean => first !== undefined && keyOf(path) === keyOf(first);
  return [...paths.filter(isFirst), ...paths.filter((path) => !isFirst(path))];
}
