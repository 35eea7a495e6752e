import type { ServerOptions } from '@sheaf/native';

/** Which UDP sockets of a process are those of a thread */
export interface SharedUdp {
  /** Number of the thread, from 0 */
  index: number;
  port: number;
}

/** Returns the options by which a server uses these sockets. */
export function sharedUdpOptions(shared: SharedUdp | undefined): Pick<ServerOptions, 'sharesPort' | 'port'> | object {
  return shared ? { sharesPort: true, port: shared.port } : {};
}
