import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import { formatAddress } from '../values/listen_error.js';
import { eachAddress, isWildcard, type ListenAddress } from '../values/scalars.js';
import type { ParsedNode } from './parsed_node.js';

type Parsed<Role extends ParsedNode['role']> = Extract<ParsedNode, { role: Role }>;

/** Returns the faults by which no response would ever come from the address of a gateway, although the file wants it. */
export function checkDirectReturn(nodes: readonly ParsedNode[], document: ConfigurationDocument): Diagnostic[] {
  return nodes.flatMap((node): Diagnostic[] => {
    switch (node.role) {
      case 'gateway':
        return checkRoutes(node, nodes, document);
      case 'backend':
        return checkAddresses(node, nodes, document);
      case 'edge':
      case 'tunnel':
        return [];
    }
  });
}

/** A route that asks for `return` by name needs a backend that has it. Nodes of other files may. */
function checkRoutes(
  { node, at }: Parsed<'gateway'>,
  nodes: readonly ParsedNode[],
  document: ConfigurationDocument,
): Diagnostic[] {
  return node.routes.flatMap(({ backends = [], delivery }, index): Diagnostic[] => {
    if (!delivery?.includes('return')) return [];
    const here = backends.map((name) => nodes.find((other) => other.name === name));
    if (!here.every((other) => other?.role === 'backend' && !other.node.return)) return [];
    const [address] = eachAddress(node.listen);
    return [
      {
        code: 'CONFIG_CONFLICT',
        message: "no backend of this route may send from the gateway's address",
        range: document.locateKey([...at, 'routes', index, 'delivery']),
        hint: `add \`return: { from: "${exampleOf(address)}" }\` to a backend, or leave \`return\` out here`,
      },
    ];
  });
}

const exampleOf = (address: ListenAddress | undefined): string =>
  address && !isWildcard(address.address) && address.port > 0 ? formatAddress(address) : '203.0.113.7:443';

/** A backend is granted the address at which its gateway received the request. All other ones are useless. */
function checkAddresses(
  { node, at }: Parsed<'backend'>,
  nodes: readonly ParsedNode[],
  document: ConfigurationDocument,
): Diagnostic[] {
  const gateway = nodes.find((other): other is Parsed<'gateway'> => other.name === node.primary);
  if (!node.return || gateway?.role !== 'gateway') return [];
  const received = eachAddress(gateway.node.listen);
  if (node.return.from.some((from) => received.some((address) => mayReceive(address, from)))) return [];
  const addresses = received.map(formatAddress).join(', ');
  return [
    {
      code: 'CONFIG_CONFLICT',
      message: `the gateway \`${gateway.name}\` receives at ${addresses}, and at none of these addresses`,
      range: document.locateValue([...at, 'return', 'from']),
      hint: 'name the address and port of its `listen`',
    },
  ];
}

function mayReceive(listen: ListenAddress, from: ListenAddress): boolean {
  if (listen.port !== 0 && listen.port !== from.port) return false;
  return isWildcard(listen.address) || canonical(listen.address) === canonical(from.address);
}

/** IPv6 addresses can be written in several ways. */
const canonical = (address: string): string =>
  address.includes(':') && !address.includes('%') ? new URL(`http://[${address}]`).hostname : address;
