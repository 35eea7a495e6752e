import type { ListeningSocket } from '../../listeners/tcp_listener.js';
import type { ListeningConfiguration } from '../../schema/listening.js';
import type { SharedUdp } from '../../values/shared_udp.js';
import type { Prepared } from '../life/reload.js';

/** Sockets that a node gets, instead of opening its own */
export interface GivenSockets {
  /** Returns listening TCP sockets, one for each address. */
  takeTcp(use: 'listen' | 'http'): ListeningSocket[];
  udp(use: 'listen' | 'backbone'): SharedUdp;
}

/** The sockets of a node that serves by itself, which stay at the service manager when its process ends */
export interface KeptSockets extends GivenSockets {
  /**
   * Opens what another configuration adds. Connections of what it does not have get `drainMs`. @throws UserError when a port is not
   * available
   */
  prepare(configuration: ListeningConfiguration, drainMs: number): Promise<Prepared>;
  /** Returns the sockets in use by the names under which the service manager keeps them. */
  named(node: string): [name: string, descriptor: number][];
  /** Takes no more connections. */
  stopListening(): void;
  close(): Promise<void>;
}
