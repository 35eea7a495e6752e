import { addon } from './addon.js';
import type { ListenedAddress } from './worker_group_types.js';

/** Where a socket is bound. */
export interface BoundSocket extends ListenedAddress {
  /** Whether other sockets may have the same address (SO_REUSEPORT). */
  shared: boolean;
}

/** A UDP socket whose descriptor the caller closes. */
export interface BoundUdp {
  /** Its descriptor. */
  descriptor: number;
  /** UDP port. */
  port: number;
}

/**
 * Opens a UDP socket for `openTunnelPort`, which another process can take over. Refuses a port that anybody else has, and with port 0
 * takes a free one. Throws with the system's `code`, such as `EADDRINUSE`. The caller closes the descriptor.
 */
export function openBoundUdp(local: ListenedAddress): BoundUdp {
  return addon().openBoundUdp(local);
}

/**
 * Returns where a socket is bound that this process got from another one.
 * @param transport what it has to be: a listening socket of TCP, or one of UDP
 * @returns undefined for any other descriptor
 */
export function boundSocket(descriptor: number, transport: 'TCP' | 'UDP'): BoundSocket | undefined {
  return addon().boundSocket(descriptor, transport === 'TCP');
}
