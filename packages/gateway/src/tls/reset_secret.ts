import { createPrivateKey, hkdfSync } from 'node:crypto';
import type { CertificatePair } from '@sheaf/native';
import { formatAddress } from '../values/listen_error.js';
import type { ListenAddress, ListenAddresses } from '../values/scalars.js';

const secretBytes = 32;

/**
 * Returns the secret of tokens and stateless resets for a node that has no file of secrets. The next process with the same
 * certificate and address makes the same one, and so can end the connections of a process that was killed (RFC 9000 §10.3.2).
 *
 * It depends on the host and the address, since servers that answer for each other's connections must not share it: one of
 * them would give away how to reset connections of another one (RFC 9000 §21.11).
 *
 * Tickets never use it. Their keys open 0-RTT packets, and who takes the private key later could read those that were recorded
 * (RFC 8446 §2.3). Tokens have only the client's address, and resets have nothing to read.
 */
export function resetSecret({ privateKey }: CertificatePair, host: string, listen: ListenAddresses): Buffer {
  // The same key has several forms as PEM text.
  const key = createPrivateKey(privateKey).export({ type: 'pkcs8', format: 'der' });
  const about = `sheaf tokens and resets ${listenerName(host, listen)}`;
  // RFC 5869 §2.2: extraction, since a private key is no uniformly random text
  return Buffer.from(hkdfSync('sha256', key, '', about, secretBytes));
}

/**
 * Returns a text that no other listener with this server id has, and that is the same after a restart. Other machines make it from
 * what the registry tells.
 */
export function listenerScope(listen: readonly ListenAddress[]): string {
  return listen.map(formatAddress).sort().join(' ');
}

/** Returns a text that no other listener of a fleet has, and that is the same after a restart. */
export function listenerName(host: string, { address, further = [], port }: ListenAddresses): string {
  return JSON.stringify([host, port, address, ...further]);
}
