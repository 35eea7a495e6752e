import type { ListenAddress } from '../values/scalars.js';

/** A local port that is open, whoever serves it */
export interface HeldPort {
  address: ListenAddress;
  /** Descriptor of its socket. Those that serve it have descriptors of their own. */
  descriptor: number;
}
