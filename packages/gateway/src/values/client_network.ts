import { isIPv6 } from 'node:net';

/** Length of the IPv6 prefix that a provider gives to one customer (RFC 6177 §2) */
const networkBits = 56;
const groupBits = 16;

/**
 * Returns the network that shares count an address to: the IPv4 address itself, or the /56 of an IPv6 address. Any
 * other text is returned as it is.
 */
export function networkOf(address: string): string {
  // All who bound the share of a network ask for the same request, one after the other.
  if (address !== latest.address) latest = { address, network: determine(address) };
  return latest.network;
}

let latest = { address: '', network: '' };

function determine(address: string): string {
  // Most addresses are IPv4. The patterns below would cost more than all who ask.
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const groups =
    tail === undefined
      ? before
      : [...before, ...new Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after];
  const kept = groups.slice(0, Math.ceil(networkBits / groupBits));
  kept[kept.length - 1]! &= 0xff00;
  return `${kept.map((group) => group.toString(16)).join(':')}::/${networkBits}`;
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
