import type { ReturnRecovery } from '@sheaf/native';
import { formatAddress } from '../../values/listen_error.js';

/** Position of the mode in a grant: 1 where the gateway numbers the packets, 2 where the backend does */
const modeAt = 21;
const ownRecoveryMode = 2;
/** Position of the address pair in a grant (docs/internals/direct-return.md). The gateway's address comes first. */
const pairAt = 112;
const ipBytes = 16;
/** Bytes before an IPv4 address in the form of IPv6 (RFC 4291 §2.5.5.2) */
const mappedBytes = 12;
const mapped = Buffer.from('00000000000000000000ffff', 'hex');

/** Returns who numbers the packets for which a grant is. */
export function grantRecovery(grant: Buffer): ReturnRecovery {
  return grant[modeAt] === ownRecoveryMode ? 'backend' : 'gateway';
}

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
