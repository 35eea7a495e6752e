import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import { shadowedRoutes } from '../http/shadowed_routes.js';
import { tunnelKeys } from '../schema/routes.js';
import { closest } from '../values/known_keys.js';
import { checkConnectionIds } from './connection_ids.js';
import { checkForward } from './forward.js';
import { checkDirectReturn } from './direct_return.js';
import { checkMultiEnd } from './multi_end.js';
import type { ParsedNode } from './parsed_node.js';
import { checkAddresses } from './addresses.js';
import { checkUplink, type ParsedUplink } from './uplinks.js';
import { checkTunnelNode } from './tunnel_nodes.js';

/**
 * Returns the faults of nodes that are valid alone but do not fit together. A registry has the addresses of nodes that the file has
 * not.
 */
export function checkNodes(
  nodes: readonly ParsedNode[],
  hasRegistry: boolean,
  document: ConfigurationDocument,
): Diagnostic[] {
  const alone = nodes.flatMap((node): Diagnostic[] => {
    switch (node.role) {
      case 'edge':
        return checkUplink(node, nodes, document);
      case 'tunnel':
        return [...checkUplink(node, nodes, document), ...checkTunnelNode(node, document)];
      default:
        return [...checkRoutes(node, document), ...checkChannels(node, document), ...checkTunnels(node, document)];
    }
  });
  return [
    ...alone,
    ...checkMultiEnd(nodes, hasRegistry, document),
    ...checkDirectReturn(nodes, document),
    ...checkAddresses(nodes, document),
    ...checkConnectionIds(nodes, document),
    ...checkForward(nodes, hasRegistry, document),
  ];
}

/** A channel belongs to the gateway that is its source, and carries the broadcasts of one route. */
function checkChannels({ node, role, at }: ParsedSite, document: ConfigurationDocument): Diagnostic[] {
  const names = role === 'gateway' ? Object.keys(node.channels) : [];
  const known =
    role === 'gateway' ? `add it to \`channels\` of \`${at.join('.') || 'this file'}\`` : 'only a gateway has channels';
  const carried = new Set<string>();
  return node.routes.flatMap(({ channel, media }, index): Diagnostic[] => {
    const place = [...at, 'routes', index, ...(channel === undefined ? ['media', 'channel'] : ['channel'])];
    const name = channel ?? media?.channel;
    if (name === undefined) return [];
    if (!names.includes(name)) {
      const meant = closest(name, names);
      const hint = meant === undefined ? known : `did you mean \`${meant}\`?`;
      const message = `there is no channel \`${name}\``;
      return [{ code: 'CONFIG_VALUE', message, range: document.locateValue(place), hint }];
    }
    const isSecond = media !== undefined && carried.has(name);
    if (media) carried.add(name);
    if (!isSecond) return [];
    const message = `the channel \`${name}\` carries the broadcasts of another route already`;
    const hint = 'a channel carries one route: add another channel';
    return [{ code: 'CONFIG_CONFLICT', message, range: document.locateValue(place), hint }];
  });
}

/** Clients ask for tunnels at the gateway alone. */
function checkTunnels({ node, role, at }: ParsedSite, document: ConfigurationDocument): Diagnostic[] {
  if (role === 'gateway') return [];
  return node.routes.flatMap((route, index): Diagnostic[] => {
    const key = tunnelKeys.find((name) => route[name] !== undefined);
    if (key === undefined) return [];
    const range = document.locateKey([...at, 'routes', index, key]);
    return [
      { code: 'CONFIG_CONFLICT', message: 'only a gateway has tunnels', range, hint: 'move the route to the gateway' },
    ];
  });
}

type ParsedSite = Exclude<ParsedNode, ParsedUplink>;

function checkRoutes({ node, at }: ParsedSite, document: ConfigurationDocument): Diagnostic[] {
  return shadowedRoutes(node.routes).map(({ index, by }): Diagnostic => {
    const message = `no request reaches this route: \`routes[${by}]\` answers all of its requests`;
    return {
      code: 'CONFIG_CONFLICT',
      message,
      range: document.locateValue([...at, 'routes', index]),
      hint: 'the first route that matches answers: put this one before it, or remove it',
    };
  });
}
