import { formatAddress } from './listen_error.js';
import { isWildcard, type ListenAddress } from './scalars.js';

/** Returns a URL that a browser on this machine can open. */
export function browserUrl(scheme: 'http' | 'https', { address, port }: ListenAddress): string {
  return `${scheme}://${formatAddress({ address: isWildcard(address) ? '127.0.0.1' : address, port })}/`;
}
