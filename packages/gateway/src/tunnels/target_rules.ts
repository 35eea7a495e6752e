import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { TargetPattern } from '../schema/tunnels.js';
import { Networks } from '../values/networks.js';
import { canonicalAddress, isUnreachable, specialRangeOf } from './addresses.js';

/** A host and port that a client names */
export interface Target {
  /** Host name in small letters, or an address */
  host: string;
  port: number;
}

type Pattern = TargetPattern & { members?: Networks };

/** Returns the addresses of this machine now. */
export function ownAddresses(): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return new Set(all.map(({ address }) => canonicalAddress(address.replace(/%.*/, '')) ?? address));
}

/** Decides which targets tunnels may lead to. */
export class TargetRules {
  readonly #patterns: readonly Pattern[];
  readonly #own: () => ReadonlySet<string>;

  constructor(patterns: readonly TargetPattern[], own: () => ReadonlySet<string> = ownAddresses) {
    this.#patterns = patterns.map((each) => ({
      ...each,
      ...(each.network && { members: new Networks([each.network]) }),
    }));
    this.#own = own;
  }

  /** Whether the target may be permitted, as far as is known before its name is resolved. */
  mayPermit({ host, port }: Target): boolean {
    const address = canonicalAddress(host);
    if (address !== undefined) return this.permits({ host, port }, address);
    return this.#patterns.some(
      (pattern) => hasPort(pattern, port) && (pattern.network !== undefined || matchesName(pattern, host)),
    );
  }

  /** Returns those of the addresses that a tunnel to the target may use. */
  permitted(target: Target, addresses: readonly string[]): string[] {
    // The system is asked once: it takes a while, and who owns a name decides how many addresses there are.
    const own = this.#own();
    return addresses.filter((address) => this.permits(target, address, own));
  }

  /**
   * Whether a tunnel to the target may use this address, which the name of the target has. Who owns a name decides which
   * addresses it has, so a name permits public addresses alone.
   */
  permits({ host, port }: Target, text: string, own = this.#own()): boolean {
    const address = canonicalAddress(text);
    if (address === undefined || isUnreachable(address)) return false;
    const patterns = this.#patterns.filter((pattern) => hasPort(pattern, port));
    const naming = patterns.filter(({ members }) => members?.has(address));
    const range = specialRangeOf(address);
    const isLoopback = range?.address === '127.0.0.0' || range?.address === '::1';
    if (own.has(address) && !isLoopback) return naming.some(({ network }) => isOneAddress(network!));
    if (range)
      return naming.some(({ network }) => range.network.has(network!.address) && network!.prefix >= range.prefix);
    return naming.length > 0 || patterns.some((pattern) => matchesName(pattern, host));
  }
}

const isOneAddress = ({ address, prefix }: { address: string; prefix: number }): boolean =>
  prefix === (isIP(address) === 4 ? 32 : 128);

const hasPort = (pattern: TargetPattern, port: number): boolean => pattern.port === undefined || pattern.port === port;

function matchesName({ name }: TargetPattern, host: string): boolean {
  if (name === undefined || name === '*') return name === '*';
  if (!name.startsWith('*.')) return name === host;
  return host.endsWith(name.slice(1)) && host.length > name.length - 1;
}

/**
 * Reads the target of the default template of URIs, `{target_host}/{target_port}/`, behind the path of the route (RFC 9298 §2).
 * Returns undefined for anything else.
 */
export function parseTarget(rest: string): Target | undefined {
  const [, encoded = '', digits = ''] = /^\/([^/]+)\/([1-9]\d{0,4})\/?$/.exec(rest) ?? [];
  try {
    return readTarget(decodeURIComponent(encoded), digits);
  } catch {
    return undefined;
  }
}

/** Reads the target of CONNECT, such as `www.example.org:443` or `[2001:db8::1]:443` (RFC 9110 §7.1). Returns as `parseTarget`. */
export function readAuthority(authority: string): Target | undefined {
  const [, six, host = '', digits = ''] = /^(?:\[([^[\]]+)\]|([^:[\]]+)):([1-9]\d{0,4})$/.exec(authority) ?? [];
  return six !== undefined && isIP(six) !== 6 ? undefined : readTarget(six ?? host, digits);
}

/** Reads a host and a port, as `readAuthority` does. */
export function readTarget(text: string, digits: string): Target | undefined {
  const port = Number(digits);
  if (port < 1 || port > 65_535) return undefined;
  const host = text.toLowerCase().replace(/\.$/, '');
  const address = canonicalAddress(host);
  if (address !== undefined) return { host: address, port };
  // A name whose last label is a number may be read as an IPv4 address in another form, such as `127.1` or `0x7f000001`.
  const isName = host.length <= 253 && /^(?:[a-z0-9_](?:[a-z0-9_-]{0,62})\.)*[a-z0-9_][a-z0-9_-]{0,62}$/.test(host);
  return isName && !/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(host) ? { host, port } : undefined;
}
