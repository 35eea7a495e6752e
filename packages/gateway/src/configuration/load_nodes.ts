import { certificateNames } from './certificate_names.js';
import { renderPlace } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import {
  keySource,
  type LoadedBackend,
  type LoadedBackendReference,
  type LoadedGateway,
  type LoadedNode,
  type LoadedPeer,
  type LoadedRegistry,
} from '../schema/loaded.js';
import { backendNumbers } from './multi_end.js';
import type { ParsedNode } from './parsed_node.js';
import { eachAddress, isWildcard } from '../values/scalars.js';

type Parsed<Role extends ParsedNode['role']> = Extract<ParsedNode, { role: Role }>;

/** Loads the nodes of a file without faults, each with the facts that it needs about the others. */
export function loadNodes(
  nodes: readonly ParsedNode[],
  directory: string,
  registry: LoadedRegistry | undefined,
  document: ConfigurationDocument,
): LoadedNode[] {
  // A directory has one development certificate. If each node made its own, they would replace each other's.
  const names = certificateNames(nodes.flatMap(({ node }) => ('tls' in node && node.tls === 'dev' ? [node] : [])));
  const base = ({ name, at }: ParsedNode) => ({
    name,
    directory,
    certificateNames: names,
    registry,
    place: (path: readonly PropertyKey[], shared = false) =>
      renderPlace(document.file, document.text, document.locateValue([...(shared ? [] : at), ...path])),
    source: { file: document.file, text: document.text },
  });
  const gateway = (parsed: Parsed<'gateway'>): LoadedGateway => ({
    ...base(parsed),
    role: 'gateway',
    node: parsed.node,
    backends: backendsOf(parsed, nodes, directory),
  });
  const gateways = new Map(
    nodes.flatMap((parsed) => (parsed.role === 'gateway' ? [[parsed.name, gateway(parsed)]] : [])),
  );
  const gatewayOf = ({ node }: Parsed<'edge' | 'tunnel'>): LoadedGateway | undefined =>
    typeof node.gateway === 'string' ? gateways.get(node.gateway) : undefined;
  return nodes.map((parsed): LoadedNode => {
    switch (parsed.role) {
      case 'gateway':
        return gateways.get(parsed.name) ?? gateway(parsed);
      case 'backend':
        return { ...base(parsed), role: 'backend', node: parsed.node, primary: primaryOf(parsed, nodes, directory) };
      case 'edge':
        return { ...base(parsed), role: 'edge', node: parsed.node, gateway: gatewayOf(parsed) };
      case 'tunnel':
        return { ...base(parsed), role: 'tunnel', node: parsed.node, gateway: gatewayOf(parsed) };
    }
  });
}

function backendsOf(
  { node }: Parsed<'gateway'>,
  nodes: readonly ParsedNode[],
  directory: string,
): LoadedBackendReference[] {
  const numbers = backendNumbers(node.backends ?? []);
  return (node.backends ?? []).map(
    ({ name, address, backbone, public_key: publicKey, health }, index): LoadedBackendReference => {
      const id = numbers[index]!;
      const backend = nodes.find(
        (other): other is Parsed<'backend'> => other.name === name && other.role === 'backend',
      );
      if (backend)
        return {
          ...peer(backend, directory),
          id,
          health,
          addresses: address ?? eachAddress(backend.node.listen),
          sharesAddress: backend.node.return?.via === 'own-address',
        };
      if (!publicKey) throw new Error(`the backend ${name} got lost`);
      return { name, id, health, addresses: address, backbone, identity: publicKey, sharesAddress: false };
    },
  );
}

function primaryOf(
  { node: { primary } }: Parsed<'backend'>,
  nodes: readonly ParsedNode[],
  directory: string,
): LoadedBackend['primary'] {
  if (typeof primary !== 'string')
    return { name: primary.name, backbone: primary.backbone, identity: primary.public_key };
  const gateway = nodes.find((other): other is Parsed<'gateway'> => other.name === primary && other.role === 'gateway');
  if (!gateway) throw new Error(`the gateway ${primary} got lost`);
  return peer(gateway, directory);
}

/** Describes a node of this file to the nodes that connect to it. */
function peer(parsed: Parsed<'gateway' | 'backend'>, directory: string): LoadedPeer {
  const { backbone } = parsed.node;
  if (!backbone) throw new Error(`${parsed.name} has no backbone`);
  return {
    name: parsed.name,
    backbone: { host: isWildcard(backbone.address) ? '127.0.0.1' : backbone.address, port: backbone.port },
    identity: keySource(parsed, directory),
  };
}
