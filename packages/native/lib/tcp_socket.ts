import type { Socket } from 'node:net';
import { addon } from './addon.js';

/**
 * Limits the bytes that wait unsent in the kernel for a TCP socket (TCP_NOTSENT_LOWAT); further ones wait where they come from.
 * Without a limit the kernel takes megabytes for a client that reads nothing. Returns false when the socket is closed, or is
 * not a TCP socket.
 */
export function limitUnsent(socket: Socket, bytes: number): boolean {
  // Node has no public name for the descriptor.
  const descriptor = (socket as Socket & { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
  return descriptor >= 0 && addon().limitUnsent(descriptor, bytes);
}
