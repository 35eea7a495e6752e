import type { EdgeConfiguration } from '../edge/options.js';
import type { ValuePath } from './document.js';
import type { NodeConfiguration } from './node.js';

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

export interface LoadedGateway extends LoadedBase {
  role: 'gateway';
  node: NodeConfiguration;
}

export interface LoadedEdge extends LoadedBase {
  role: 'edge';
  node: EdgeConfiguration;
  /** The gateway when it is a node of the same file. */
  gateway: LoadedGateway | undefined;
}

/** A valid node, with every path absolute. */
export type LoadedNode = LoadedGateway | LoadedEdge;

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
