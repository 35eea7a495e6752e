import { hasWorkers } from '../schema/workers.js';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import type { ParsedNode } from './parsed_node.js';
import type { ParsedUplink } from './uplinks.js';

/** Broadcasts and the packets of a channel are in the memory of the main thread, which all their clients have to reach. */
export function checkWorkers(
  { node, at, role }: Exclude<ParsedNode, ParsedUplink>,
  document: ConfigurationDocument,
): Diagnostic[] {
  const needsOne = [
    ...(role === 'gateway' && Object.keys(node.channels).length > 0 ? ['`channels`'] : []),
    ...(node.routes.some(({ media }) => media !== undefined) ? ['routes with `media`'] : []),
  ];
  if (!hasWorkers(node) || needsOne.length === 0) return [];
  return [
    {
      code: 'CONFIG_CONFLICT',
      message: `a node with ${needsOne.join(' and ')} has no workers`,
      range: document.locateKey([...at, 'workers']),
      hint: 'remove `workers`, or move these to a gateway of their own',
    },
  ];
}
