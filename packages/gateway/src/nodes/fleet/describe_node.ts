import { backboneVersion } from '../../multi_end/backbone/messages.js';
import type { FleetNodeDescription } from '../../registry/fleet_view.js';
import type { LoadedBackend, LoadedGateway } from '../../schema/loaded.js';
import { eachAddress, isWildcard, type ListenAddress, type ListenAddresses } from '../../values/scalars.js';
import { version } from '../../values/version.js';

/** A running node, as far as others of its fleet need to know it */
export interface DescribedNode {
  readonly address: ListenAddresses;
  readonly backboneAddress?: ListenAddress | undefined;
  readonly draining: boolean;
  /** Where it takes datagrams that arrived at other machines */
  readonly forwardingAddress?: ListenAddress | undefined;
}

/** Returns what a node says of itself in the registry. `configuration` is the hash of the document that it runs by. */
export function describeNode(
  { role, node: { connection_ids: ids } }: LoadedGateway | LoadedBackend,
  { address, backboneAddress, draining, forwardingAddress }: DescribedNode,
  configuration: string,
): FleetNodeDescription {
  return {
    role,
    listen: eachAddress(address).filter(isReachable).map(told),
    backbone: backboneAddress && isReachable(backboneAddress) ? told(backboneAddress) : undefined,
    forwarding: forwardingAddress && isReachable(forwardingAddress) ? told(forwardingAddress) : undefined,
    serverId: ids && Buffer.from(ids.server_id, 'hex'),
    version,
    backboneVersion,
    configuration,
    draining,
  };
}

/** An address that stands for all addresses tells others nothing, and neither does a zone of this machine (RFC 4007 section 11). */
const isReachable = ({ address }: ListenAddress): boolean => !isWildcard(address) && !address.includes('%');

/** Readers refuse entries with more than this, such as the family that the transport gives along. */
const told = ({ address, port }: ListenAddress): ListenAddress => ({ address, port });
