import { addon } from './addon.js';
import type { ListenedAddress } from './worker_group_types.js';

/**
 * Returns where a socket is bound that this process got from another one.
 * @param transport what it has to be: a listening socket of TCP, or one of UDP, that shares its address (SO_REUSEPORT)
 * @returns undefined for any other descriptor
 */
export function boundAddress(descriptor: number, transport: 'TCP' | 'UDP'): ListenedAddress | undefined {
  return addon().boundAddress(descriptor, transport === 'TCP');
}
