import type { Socket } from 'node:net';
import { addon } from './addon.js';

/**
 * At most so many bytes wait unsent in the kernel for this socket (TCP_NOTSENT_LOWAT); what is beyond waits where it comes from.
 * Without that the kernel takes megabytes for a client that reads nothing. False: the socket is closed, or is none of TCP.
 */
export function limitUnsent(socket: Socket, bytes: number): boolean {
  // Node has no other name for it.
  const descriptor = (socket as Socket & { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
  return descriptor >= 0 && addon().limitUnsent(descriptor, bytes);
}
