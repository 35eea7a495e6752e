import type { LoadedServer, LoadedUplink } from '../schema/loaded.js';
import type { RunningAddresses } from '../values/running_addresses.js';
import type { ListenAddress } from '../values/scalars.js';
import { Backend } from './backend.js';
import { Edge } from './edge/edge.js';
import { Gateway } from './gateway.js';
import type { SiteOptions } from './site/site_options.js';

export interface ServerStartOptions extends SiteOptions {
  /** Addresses of the other nodes */
  running: RunningAddresses;
}

/** Starts a node whose clients this thread serves. @throws UserError */
export function startServer(loaded: LoadedServer, options: ServerStartOptions): Promise<Gateway | Backend | Edge> {
  switch (loaded.role) {
    case 'gateway':
      return Gateway.start(loaded, options);
    case 'backend':
      return Backend.start(loaded, options);
    case 'edge':
      return Edge.start(loaded, { ...options, gatewayAddress: gatewayAddress(loaded, options.running) });
  }
}

/** Returns where the gateway of a node listens, if it is a node of the same file. */
export function gatewayAddress({ gateway }: LoadedUplink, running: RunningAddresses): ListenAddress | undefined {
  return gateway && running.listenOf(gateway.name);
}
