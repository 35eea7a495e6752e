import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import { isLoopback } from '../values/scalars.js';
import { localPorts } from './local_ports.js';
import type { ParsedNode } from './parsed_node.js';

type ParsedTunnelNode = Extract<ParsedNode, { role: 'tunnel' }>;

/** Programs of this machine alone use a tunnel node, unless its configuration says otherwise. */
export function checkTunnelNode(parsed: ParsedTunnelNode, document: ConfigurationDocument): Diagnostic[] {
  const { node, at } = parsed;
  const ports = localPorts(node);
  if (ports.length === 0)
    return [
      {
        code: 'CONFIG_MISSING_KEY',
        message: 'no program can use this tunnel',
        range: document.locateKey(at),
        hint: 'add `socks5: 127.0.0.1:1080`, `http_proxy: 127.0.0.1:8118` or `forward`',
      },
    ];
  if (node.open_to_network) return [];
  return ports
    .filter(({ address }) => !isLoopback(address.address))
    .map(({ path }) => ({
      code: 'CONFIG_CONFLICT',
      message: 'others in the network could use the gateway through this port',
      range: document.locateValue([...at, ...path]),
      hint: 'listen at 127.0.0.1, or write `open_to_network: true`',
    }));
}
