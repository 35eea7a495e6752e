import type { NodePublicKey } from '../values/node_key.js';
import type { NodeKeyOptions } from './backbone.js';
import type { EdgeConfiguration } from './edge.js';
import type { BackendConfiguration, BackendHealthOptions } from './backends.js';
import type { ValuePath } from '../values/document.js';
import type { FrontOptions } from './front.js';
import type { NodeConfiguration } from './node.js';
import type { ListenAddress } from '../values/scalars.js';
import type { RegistryOptions } from './registry.js';
import type { TunnelNodeConfiguration } from './tunnel_node.js';
import type { UplinkConfiguration } from './uplink.js';

/** Name of the node of a file that describes nothing else */
export const onlyNodeName = 'gateway';

interface LoadedBase {
  /** Name of the node in the file, or `onlyNodeName` */
  name: string;
  /** Directory of the file, which holds `.sheaf/` */
  directory: string;
  /** Names and addresses in the development certificate that the nodes of a file share */
  certificateNames: readonly string[];
  /** The registry of the file */
  registry: LoadedRegistry | undefined;
  /** Renders the place of a value with a caret, for errors that show up later. `shared`: the path begins at the top of the file. */
  place(path: ValuePath, shared?: boolean): string;
  /** The file that the node was read from, so that another thread can read the same */
  source: ConfigurationSource;
}

/** A configuration file with its text when it was read */
export interface ConfigurationSource {
  file: string;
  text: string;
}

/** Another node of the site */
export interface LoadedPeer {
  name: string;
  /** Address of its backbone. Port 0 becomes known while the node runs in this process. Undefined: the registry has the address. */
  backbone: { host: string; port: number } | undefined;
  /** Public key of the node, or the source of its key when it is a node of the same file */
  identity: NodePublicKey | NodeKeySource;
}

/** Source of the key of a node in this file */
export interface NodeKeySource {
  name: string;
  directory: string;
  key: NodeKeyOptions;
  /** Public key that the file must hold, if the configuration names one */
  publicKey: NodePublicKey | undefined;
}

/** Returns the source of the key of a node in this directory. */
export function keySource(
  { name, node }: { name: string; node: Pick<NodeConfiguration, 'key' | 'public_key'> },
  directory: string,
): NodeKeySource {
  return { name, directory, key: node.key, publicKey: node.public_key };
}

/** A backend of a gateway */
export interface LoadedBackendReference extends LoadedPeer {
  id: number;
  /** Addresses where clients reach it; port 0 as in `backbone`. Undefined: the registry has them. */
  addresses: readonly ListenAddress[] | undefined;
  health: BackendHealthOptions;
  /** Whether it is a node of the same file that sends from an address of the gateway's host */
  sharesAddress: boolean;
}

export interface LoadedGateway extends LoadedBase {
  role: 'gateway';
  node: NodeConfiguration;
  backends: readonly LoadedBackendReference[];
}

export interface LoadedBackend extends LoadedBase {
  role: 'backend';
  node: BackendConfiguration;
  primary: LoadedPeer;
}

/** A node with a connection to a gateway */
export interface LoadedUplink extends LoadedBase {
  node: UplinkConfiguration;
  /** The gateway, if it is a node of the same file */
  gateway: LoadedGateway | undefined;
}

export interface LoadedEdge extends LoadedUplink {
  role: 'edge';
  node: EdgeConfiguration;
}

export interface LoadedTunnelNode extends LoadedUplink {
  role: 'tunnel';
  node: TunnelNodeConfiguration;
}

/** A node with clients of the web, which several threads can serve */
export type LoadedServer = LoadedGateway | LoadedBackend | LoadedEdge;

/** What all of them may have in common, each with a role of its own */
export type ServerOptions = Pick<
  FrontOptions,
  'listen' | 'http' | 'admin' | 'tls' | 'secrets' | 'connection_ids' | 'public_url' | 'limits'
> &
  Partial<Pick<NodeConfiguration, 'workers' | 'backbone' | 'routes'>>;

/** A valid node, with every path absolute. */
export type LoadedNode = LoadedServer | LoadedTunnelNode;

/** The registry of a fleet, with every path absolute */
export interface LoadedRegistry {
  options: RegistryOptions;
  /** Nodes whose entries are believed, with their keys, by name */
  known: ReadonlyMap<string, NodePublicKey | NodeKeySource>;
}

/** A valid configuration file: one gateway, or the nodes that it names. */
export interface LoadedConfiguration {
  nodes: readonly LoadedNode[];
  directory: string;
  /** SHA-256 of the document in hexadecimal */
  version: string;
  /** Whether the file has a map of nodes */
  named: boolean;
  registry: LoadedRegistry | undefined;
}

/** Returns the gateway of a file that describes nothing else. */
export function onlyGateway({ nodes }: LoadedConfiguration): LoadedGateway {
  const [node] = nodes;
  if (nodes.length !== 1 || node?.role !== 'gateway') throw new Error('the file does not describe one gateway');
  return node;
}
