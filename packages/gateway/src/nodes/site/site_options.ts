import type { FrontNodeOptions } from '../front/front.js';
import type { RunningAddresses } from '../../values/running_addresses.js';

/** Options of a node with routes of its own */
export interface SiteOptions extends FrontNodeOptions {
  /** Addresses of the other nodes in this process */
  running?: RunningAddresses;
}
