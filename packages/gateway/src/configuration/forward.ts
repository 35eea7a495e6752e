import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import { eachAddress, isWildcard } from '../values/scalars.js';
import type { ParsedNode } from './parsed_node.js';

/** Returns what a gateway lacks that passes datagrams on to other machines. */
export function checkForward(
  nodes: readonly ParsedNode[],
  hasRegistry: boolean,
  document: ConfigurationDocument,
): Diagnostic[] {
  return nodes.flatMap((parsed): Diagnostic[] => {
    if (parsed.role !== 'gateway' || !parsed.node.forward) return [];
    const { node, at } = parsed;
    const { listen, forward } = parsed.node;
    const missing = [
      ...(hasRegistry ? [] : [['the machines of a fleet find each other by `registry`', 'add it to the file']]),
      ...(node.secrets === undefined
        ? [['machines of a fleet share `secrets`', 'add `secrets: ./secrets`, made by `sheaf secrets ./secrets`']]
        : []),
      ...(node.connection_ids
        ? []
        : [['a machine of a fleet has a server id', 'add `connection_ids: { server_id: … }`']]),
      ...(eachAddress(listen).some(isReachableNowhere)
        ? [['a machine answers from the addresses of `listen`', 'name them, instead of all addresses of the machine']]
        : []),
      ...(isReachableNowhere(forward)
        ? [['other machines send to the address of `forward`', 'name one of this machine']]
        : []),
    ];
    return missing.map(([message, hint]) => ({
      code: 'CONFIG_CONFLICT',
      message: message!,
      range: document.locateKey([...at, 'forward']),
      hint: hint!,
    }));
  });
}

const isReachableNowhere = (of: { address: string } | { listen: { address: string } }): boolean =>
  isWildcard('listen' in of ? of.listen.address : of.address);
