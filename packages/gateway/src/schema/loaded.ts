import type { NodePublicKey } from '../values/node_key.js';
import type { NodeKeyOptions } from './backbone.js';
import type { EdgeConfiguration } from './edge.js';
import type { BackendConfiguration, BackendHealthOptions } from './backends.js';
import type { ValuePath } from '../values/document.js';
import type { NodeConfiguration } from './node.js';
import type { ListenAddress } from '../values/scalars.js';

interface LoadedBase {
  /** As the file calls it; `gateway` when the whole file is one. */
  name: string;
  /** Directory of the file; `.sheaf/` is kept here. */
  directory: string;
  /** Names and addresses in the development certificate, which the nodes of a file share. */
  certificateNames: readonly string[];
  /** The place of one of its values, rendered with a caret, for errors that show up later. */
  place(path: ValuePath): string;
}

/** Another node of the site. */
export interface LoadedPeer {
  name: string;
  /** Where its backbone listens; port 0 is known while it runs in this process. */
  backbone: { host: string; port: number };
  /** Its key, or that of a node of the same file. */
  identity: NodePublicKey | NodeKeySource;
}

/** Where the key of a node of this file is. */
export interface NodeKeySource {
  name: string;
  directory: string;
  key: NodeKeyOptions;
  /** What it must belong to. */
  publicKey: NodePublicKey | undefined;
}

/** Where the key of a node in this directory is. */
export function keySource(
  { name, node }: { name: string; node: Pick<NodeConfiguration, 'key' | 'public_key'> },
  directory: string,
): NodeKeySource {
  return { name, directory, key: node.key, publicKey: node.public_key };
}

/** A backend of a gateway. */
export interface LoadedBackendReference extends LoadedPeer {
  id: number;
  /** Where clients reach it; port 0 as in `backbone`. */
  addresses: readonly ListenAddress[];
  health: BackendHealthOptions;
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

export interface LoadedEdge extends LoadedBase {
  role: 'edge';
  node: EdgeConfiguration;
  /** The gateway when it is a node of the same file. */
  gateway: LoadedGateway | undefined;
}

/** A valid node, with every path absolute. */
export type LoadedNode = LoadedGateway | LoadedBackend | LoadedEdge;

/** A valid configuration file: one gateway, or the nodes that it names. */
export interface LoadedConfiguration {
  nodes: readonly LoadedNode[];
  directory: string;
  /** The file has a map of nodes. */
  named: boolean;
}

/** The gateway of a file that describes nothing else. */
export function onlyGateway({ nodes }: LoadedConfiguration): LoadedGateway {
  const [node] = nodes;
  if (nodes.length !== 1 || node?.role !== 'gateway') throw new Error('the file does not describe one gateway');
  return node;
}
