import type { NodePublicKey } from '../values/node_key.js';
import type { ListenAddress } from '../values/scalars.js';

/**
 * What a reader thinks of another node, by its own clock. `alive`: heartbeats arrive. `suspect`: three are missing, so new work goes
 * elsewhere, and what runs there goes on. `gone`: none came for 30 seconds, or the node said that it stopped.
 */
export type FleetNodeState = 'alive' | 'suspect' | 'gone';

/** What a node says of itself, signed with its key */
export interface FleetNodeDescription {
  role: 'gateway' | 'backend';
  /** Addresses where clients reach it; none where it listens on every address */
  listen: readonly ListenAddress[];
  /** Address of its backbone */
  backbone?: ListenAddress | undefined;
  /** UDP address where other machines of the fleet send datagrams of its connections */
  forwarding?: ListenAddress | undefined;
  /** Id in its connection ids */
  serverId?: Buffer | undefined;
  /** Version of Sheaf */
  version: string;
  /** Version of the messages between nodes */
  backboneVersion: number;
  /** SHA-256 of the configuration that it runs by, in hexadecimal */
  configuration: string;
  /** Whether it takes no new work */
  draining: boolean;
}

/** A node of the fleet, as far as its signed heartbeats tell */
export interface FleetNode extends FleetNodeDescription {
  name: string;
  state: FleetNodeState;
  publicKey: NodePublicKey;
  /** Whether the node runs in this process */
  own: boolean;
}

/**
 * The nodes of a fleet at a moment. Only nodes whose keys the configuration names are here, whatever the registry holds; what they
 * say of themselves is a hint, so a way to a node has to prove by its key that it leads there.
 */
export interface FleetView {
  /** All nodes that are not gone, by name */
  readonly nodes: readonly FleetNode[];
  /** Whether the registry told something within the time after which a silent node is suspect. What the view says is old otherwise. */
  readonly isRecent: boolean;
  node(name: string): FleetNode | undefined;
  /**
   * Returns the node whose connections have this server id; suspect ones as well, since connections may live there. Of two that
   * claim one id, the holder of the registry's claim is returned.
   */
  byServerId(serverId: Uint8Array): FleetNode | undefined;
  /** Calls `changed` after every change of the view. Returns a function that ends this. */
  onChange(changed: () => void): () => void;
}
