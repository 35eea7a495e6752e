import { isIP } from 'node:net';
import { Networks, type Network } from '../values/networks.js';

/** Addresses that no tunnel reaches: of no host, of many, or of this one by another name */
const unreachable: readonly Network[] = [
  { address: '0.0.0.0', prefix: 8 },
  { address: '224.0.0.0', prefix: 4 },
  { address: '255.255.255.255', prefix: 32 },
  { address: '::', prefix: 128 },
  { address: 'ff00::', prefix: 8 },
];

/**
 * Ranges that are not part of the public Internet, or that lead to such by translation (the registries of special-purpose
 * addresses, RFC 6890), and one public address that in machines of a large cloud is the cloud's own
 */
const special: readonly Network[] = [
  { address: '10.0.0.0', prefix: 8 },
  { address: '100.64.0.0', prefix: 10 },
  { address: '127.0.0.0', prefix: 8 },
  { address: '169.254.0.0', prefix: 16 },
  { address: '168.63.129.16', prefix: 32 },
  { address: '172.16.0.0', prefix: 12 },
  { address: '192.0.0.0', prefix: 24 },
  { address: '192.0.2.0', prefix: 24 },
  { address: '192.88.99.0', prefix: 24 },
  { address: '192.168.0.0', prefix: 16 },
  { address: '198.18.0.0', prefix: 15 },
  { address: '198.51.100.0', prefix: 24 },
  { address: '203.0.113.0', prefix: 24 },
  { address: '240.0.0.0', prefix: 4 },
  { address: '::1', prefix: 128 },
  { address: '::', prefix: 96 },
  { address: '64:ff9b::', prefix: 96 },
  { address: '64:ff9b:1::', prefix: 48 },
  { address: '100::', prefix: 64 },
  { address: '2001::', prefix: 23 },
  { address: '2001:db8::', prefix: 32 },
  { address: '2002::', prefix: 16 },
  { address: '3fff::', prefix: 20 },
  { address: '5f00::', prefix: 16 },
  { address: 'fc00::', prefix: 7 },
  { address: 'fe80::', prefix: 10 },
  { address: 'fec0::', prefix: 10 },
];

const unreachableAddresses = new Networks(unreachable);
const specialRanges = special.map((range) => ({ ...range, network: new Networks([range]) }));

/** Whether no tunnel may lead to the address, whatever a configuration says. */
export function isUnreachable(address: string): boolean {
  return unreachableAddresses.has(address);
}

/** Returns the special range that an address belongs to. */
export function specialRangeOf(address: string): (Network & { network: Networks }) | undefined {
  return specialRanges.find(({ network }) => network.has(address));
}

/**
 * Returns an address in its one spelling. An IPv4 address in the form of IPv6 (`::ffff:127.0.0.1`) becomes IPv4, since that is
 * what the system connects to. Returns undefined for any other text, and for addresses with a zone.
 */
export function canonicalAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text;
  if (isIP(text) !== 6 || text.includes('%')) return undefined;
  const address = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const value = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}
