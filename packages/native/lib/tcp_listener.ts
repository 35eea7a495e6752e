import { closeSync } from 'node:fs';
import { addon } from './addon.js';
import type { ListenedAddress } from './worker_group_types.js';

/** Listening TCP sockets that share one address. */
export interface SharedTcp {
  /** Descriptors, which the caller closes. */
  descriptors: number[];
  /** TCP port. */
  port: number;
}

/**
 * Opens listening TCP sockets that share one address (SO_REUSEPORT), so that each thread of a process has one, which it takes by
 * `server.listen({ fd })`. The kernel divides connections among them. Refuses a port where anybody else listens, and with port 0
 * takes a free one. Throws with the system's `code`, such as `EADDRINUSE`. The caller closes the descriptors.
 */
export function openSharedTcp(local: ListenedAddress, sockets: number): SharedTcp {
  const { descriptor, port } = addon().openTcpListener(local, false);
  const descriptors = [descriptor];
  try {
    while (descriptors.length < sockets) descriptors.push(addon().openTcpListener({ ...local, port }, true).descriptor);
  } catch (error) {
    descriptors.forEach((each) => closeSync(each));
    throw error;
  }
  return { descriptors, port };
}

/**
 * Returns a second descriptor of a socket, for a thread that closes it when it ends. Throws when the process has no more
 * descriptors.
 */
export function duplicateDescriptor(descriptor: number): number {
  const copy = addon().duplicateDescriptor(descriptor);
  if (copy < 0) throw Object.assign(new Error('the process has no more descriptors'), { code: 'EMFILE' });
  return copy;
}
