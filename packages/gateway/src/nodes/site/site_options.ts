import type { NodeOptions } from '../front/front.js';
import type { RunningAddresses } from '../../values/running_addresses.js';

/** What a node that has routes of its own is told at its start. */
export interface SiteOptions extends NodeOptions {
  /** The other nodes of this process. */
  running?: RunningAddresses;
}
