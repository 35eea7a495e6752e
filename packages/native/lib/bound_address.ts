import { addon } from './addon.js';
import type { ListenedAddress } from './worker_group_types.js';

/** A socket that is bound, and whose descriptor the caller closes. */
export interface BoundSocket {
  /** Its descriptor. */
  descriptor: number;
  /** UDP port. */
  port: number;
}

/**
 * Opens a UDP socket for `openTunnelPort`, which another process can take over. Refuses a port that anybody else has, and with port 0
 * takes a free one. Throws with the system's `code`, such as `EADDRINUSE`. The caller closes the descriptor.
 */
export function openBoundUdp(local: ListenedAddress): BoundSocket {
  return addon().openBoundUdp(local);
}

/**
 * Returns where a socket is bound that this process got from another one.
 * @param transport what it has to be: a listening socket of TCP, or one of UDP, that shares its address (SO_REUSEPORT)
 * @returns undefined for any other descriptor
 */
export function boundAddress(descriptor: number, transport: 'TCP' | 'UDP'): ListenedAddress | undefined {
  return addon().boundAddress(descriptor, transport === 'TCP');
}
