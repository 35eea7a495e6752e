import { hasWorkers } from '../schema/workers.js';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import type { ParsedNode } from './parsed_node.js';
import type { ParsedUplink } from './uplinks.js';

/** The packets of a channel are in the memory of one thread, which all receivers have to reach. */
export function checkWorkers(
  { node, at, role }: Exclude<ParsedNode, ParsedUplink>,
  document: ConfigurationDocument,
): Diagnostic[] {
  if (!hasWorkers(node) || role !== 'gateway' || Object.keys(node.channels).length === 0) return [];
  return [
    {
      code: 'CONFIG_CONFLICT',
      message: 'a node with `channels` has no workers',
      range: document.locateKey([...at, 'workers']),
      hint: 'remove `workers`, or move the channels to a gateway of their own',
    },
  ];
}
