import { Resolver } from 'node:dns/promises';
import { canonicalAddress } from './addresses.js';

/** Why a name has no addresses; the words are those of Proxy-Status (RFC 9209 §2.3.2). */
export class ResolutionError extends Error {
  constructor(
    readonly status: 502 | 504,
    readonly proxyStatus: string,
  ) {
    super(proxyStatus);
  }
}

/** Returns the addresses of a name, in the order in which they are tried. @throws ResolutionError */
export type Resolve = (host: string) => Promise<string[]>;

const timeoutMs = 3_000;
const tries = 2;
/** Addresses of each family that are looked at. A response over TCP may have thousands. */
const mostAddresses = 8;
/** Error codes of c-ares with the names of DNS that they stand for */
const responseCodes: Readonly<Record<string, string>> = {
  ENOTFOUND: 'NXDOMAIN',
  ESERVFAIL: 'SERVFAIL',
  EREFUSED: 'REFUSED',
  EFORMERR: 'FORMERR',
  ENOTIMP: 'NOTIMP',
};

/**
 * Asks the name servers of the system, or those that are given, and no file such as /etc/hosts, which names hosts of this
 * network.
 */
export function resolveByDns(servers?: readonly string[], timeout = timeoutMs): Resolve {
  const resolver = new Resolver({ timeout, tries });
  if (servers) resolver.setServers(servers);
  return async (host) => {
    const results = await Promise.allSettled([resolver.resolve6(host), resolver.resolve4(host)]);
    const addresses = results.flatMap((each) =>
      each.status === 'fulfilled' ? each.value.slice(0, mostAddresses) : [],
    );
    if (addresses.length > 0) return addresses;
    const codes = results.map((each) =>
      each.status === 'rejected' ? String((each.reason as { code?: string }).code) : '',
    );
    throw asResolutionError(codes);
  };
}

export function asResolutionError(codes: readonly string[]): ResolutionError {
  if (codes.includes('ETIMEOUT')) return new ResolutionError(504, 'error=dns_timeout');
  const name = codes.map((code) => responseCodes[code]).find((each) => each !== undefined);
  return new ResolutionError(502, name === undefined ? 'error=dns_error' : `error=dns_error; rcode="${name}"`);
}

/** Returns the addresses of a target: its own when the host is one. @throws ResolutionError */
export async function addressesOf(host: string, resolve: Resolve): Promise<string[]> {
  const literal = canonicalAddress(host);
  return literal === undefined ? resolve(host) : [literal];
}
