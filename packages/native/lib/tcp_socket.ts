import type { Socket } from 'node:net';
import { addon } from './addon.js';

/**
 * Limits the bytes that wait unsent in the kernel for a TCP socket (TCP_NOTSENT_LOWAT); further ones wait where they come from.
 * Without a limit the kernel takes megabytes for a client that reads nothing. Returns false when the socket is closed, or is
 * not a TCP socket.
 */
export function limitUnsent(socket: Socket, bytes: number): boolean {
  const descriptor = descriptorOf(socket);
  return descriptor >= 0 && addon().limitUnsent(descriptor, bytes);
}

/**
 * Whether nothing can travel on an open TCP socket any more: its peer has reset it, or does not respond. Node hears of that only
 * while it reads from the socket.
 */
export function isGone(socket: Socket): boolean {
  const descriptor = descriptorOf(socket);
  return descriptor >= 0 && addon().isGone(descriptor);
}

/** Node has no public name for the descriptor. */
const descriptorOf = (socket: Socket): number =>
  (socket as Socket & { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
