import type { BackendConfiguration } from '../backends/options.js';
import type { EdgeConfiguration } from '../edge/options.js';
import type { ValuePath } from './document.js';
import type { NodeConfiguration } from './node.js';

/** A node of a file with the place of its keys. */
export type ParsedNode = { name: string; at: ValuePath } & ({ role: 'gateway'; node: NodeConfiguration } | { role: 'backend'; node: BackendConfiguration } | { role: 'edge'; node: EdgeConfiguration });
