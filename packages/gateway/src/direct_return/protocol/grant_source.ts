import { formatAddress } from '../../values/listen_error.js';

/** Position of the address pair in a grant (docs/internals/direct-return.md). The gateway's address comes first. */
const pairAt = 112;
const ipBytes = 16;
/** Bytes before an IPv4 address in the form of IPv6 (RFC 4291 §2.5.5.2) */
const mappedBytes = 12;
const mapped = Buffer.from('00000000000000000000ffff', 'hex');

/** Returns the address and port from which a grant lets its backend send; undefined when it is too short to have one. */
export function grantSource(grant: Buffer): string | undefined {
  const ip = grant.subarray(pairAt, pairAt + ipBytes);
  if (grant.length < pairAt + ipBytes + 2) return undefined;
  const port = grant.readUInt16BE(pairAt + ipBytes);
  if (ip.subarray(0, mappedBytes).equals(mapped))
    return formatAddress({ address: [...ip.subarray(mappedBytes)].join('.'), port });
  const groups = Array.from({ length: 8 }, (_, group) => ip.readUInt16BE(group * 2).toString(16));
  // It writes the shortest form (RFC 5952).
  return `${new URL(`http://[${groups.join(':')}]`).hostname}:${port}`;
}
