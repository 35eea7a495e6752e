import type { BackendConfiguration } from '../schema/backends.js';
import type { EdgeConfiguration } from '../schema/edge.js';
import type { ValuePath } from '../values/document.js';
import type { NodeConfiguration } from '../schema/node.js';
import type { TunnelNodeConfiguration } from '../schema/tunnel_node.js';

/** A node of a file with the place of its keys. */
export type ParsedNode = { name: string; at: ValuePath } & (
  | { role: 'gateway'; node: NodeConfiguration }
  | { role: 'backend'; node: BackendConfiguration }
  | { role: 'edge'; node: EdgeConfiguration }
  | { role: 'tunnel'; node: TunnelNodeConfiguration }
);
