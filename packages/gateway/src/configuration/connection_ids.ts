import type { ConnectionIdsOptions } from '../schema/connection_ids.js';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import type { ParsedNode } from './parsed_node.js';

/** Returns the faults of what stands in connection ids: without a key, or of another length than those of the gateway. */
export function checkConnectionIds(nodes: readonly ParsedNode[], document: ConfigurationDocument): Diagnostic[] {
  return nodes.flatMap((each): Diagnostic[] => {
    if (each.role !== 'gateway' && each.role !== 'backend') return [];
    const { node, at } = each;
    const faults: Diagnostic[] = [];
    if (node.connection_ids?.encrypted && node.secrets === undefined)
      faults.push({
        code: 'CONFIG_CONFLICT',
        message: 'the id of the server is encrypted with `secrets`, and there are none',
        range: document.locateKey([...at, 'connection_ids']),
        hint: 'add `secrets: ./secrets`, made by `sheaf secrets ./secrets`; or add `encrypted: false`',
      });
    if (each.role === 'backend') {
      const fault = otherLength(each, nodes);
      if (fault) faults.push({ ...fault, range: document.locateKey([...at, 'primary']) });
    }
    return faults;
  });
}

/** A gateway issues the ids by which its backends are reached, so a backend must expect their length. */
function otherLength(
  { node }: Extract<ParsedNode, { role: 'backend' }>,
  nodes: readonly ParsedNode[],
): Omit<Diagnostic, 'range'> | undefined {
  const name = typeof node.primary === 'string' ? node.primary : node.primary.name;
  const primary = nodes.find((candidate) => candidate.role === 'gateway' && candidate.name === name);
  if (primary?.role !== 'gateway') return undefined;
  const wanted = length(primary.node.connection_ids);
  if (length(node.connection_ids) === wanted) return undefined;
  const hint =
    wanted === 0
      ? 'remove `connection_ids` here, or add it to the gateway'
      : `add \`connection_ids: { server_id: … }\` of ${wanted} bytes here`;
  return {
    code: 'CONFIG_CONFLICT',
    message: `the connection ids of \`${name}\` have another length than those of this backend`,
    hint,
  };
}

function length(options: ConnectionIdsOptions | undefined): number {
  return (options?.server_id.length ?? 0) / 2;
}
