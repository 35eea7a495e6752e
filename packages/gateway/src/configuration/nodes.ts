import { isIP } from 'node:net';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument, ValuePath } from '../values/document.js';
import { shadowedRoutes } from '../http/shadowed_routes.js';
import { tunnelKeys } from '../schema/routes.js';
import { closest } from '../values/known_keys.js';
import { checkDirectReturn } from './direct_return.js';
import { checkMultiEnd } from './multi_end.js';
import type { ParsedNode } from './parsed_node.js';
import { eachAddress, isWildcard, type ListenAddress } from '../values/scalars.js';

/** Returns the faults of nodes that are valid alone but do not fit together. */
export function checkNodes(nodes: readonly ParsedNode[], document: ConfigurationDocument): Diagnostic[] {
  const edges = nodes.flatMap((node) =>
    node.role === 'edge' ? [...checkGateway(node, nodes, document), ...checkPaths(node, document)] : [],
  );
  const routes = nodes.flatMap((node) =>
    node.role === 'edge'
      ? []
      : [...checkRoutes(node, document), ...checkChannels(node, document), ...checkTunnels(node, document)],
  );
  return [
    ...edges,
    ...routes,
    ...checkMultiEnd(nodes, document),
    ...checkDirectReturn(nodes, document),
    ...checkAddresses(nodes, document),
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

type ParsedSite = Exclude<ParsedNode, ParsedEdge>;

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

type ParsedEdge = Extract<ParsedNode, { role: 'edge' }>;

function checkGateway(
  { node, at }: ParsedEdge,
  nodes: readonly ParsedNode[],
  document: ConfigurationDocument,
): Diagnostic[] {
  const { gateway } = node;
  if (typeof gateway !== 'string') return [];
  const range = document.locateValue([...at, 'gateway']);
  const target = nodes.find(({ name }) => name === gateway);
  if (target?.role === 'gateway') {
    if (target.node.alpn.includes('h3')) return [];
    return [
      {
        code: 'CONFIG_CONFLICT',
        message: `the gateway \`${gateway}\` does not serve HTTP/3, by which an edge reaches it`,
        range,
        hint: 'add `h3` to its `alpn`',
      },
    ];
  }
  if (target)
    return [
      {
        code: 'CONFIG_VALUE',
        message: `\`${gateway}\` is ${target.role === 'edge' ? 'an edge' : 'a backend'}, not a gateway`,
        range,
        hint: 'an edge leads to a gateway',
      },
    ];
  const names = nodes.filter(({ role }) => role === 'gateway').map(({ name }) => name);
  const meant = closest(gateway, names);
  const known =
    names.length === 0
      ? 'this file has no gateway'
      : `the gateways of this file: ${names.map((name) => `\`${name}\``).join(', ')}`;
  const hint =
    meant === undefined ? `${known}; for another one write \`{ address: host:port }\`` : `did you mean \`${meant}\`?`;
  return [{ code: 'CONFIG_VALUE', message: `there is no gateway \`${gateway}\``, range, hint }];
}

function checkPaths(edge: ParsedEdge, document: ConfigurationDocument): Diagnostic[] {
  return [...checkEnds(edge, document), ...checkWeights(edge, document)];
}

function checkWeights(
  { node: { paths, path_scheduler: scheduler }, at }: ParsedEdge,
  document: ConfigurationDocument,
): Diagnostic[] {
  if (paths === 'auto' || scheduler === 'weighted') return [];
  return paths.flatMap(({ weight }, index): Diagnostic[] => {
    if (weight === undefined) return [];
    const range = document.locateValue([...at, 'paths', index, 'weight']);
    return [
      {
        code: 'CONFIG_CONFLICT',
        message: `a weight has no effect with the path scheduler \`${scheduler}\``,
        range,
        hint: 'write `path_scheduler: weighted`, or leave it out',
      },
    ];
  });
}

function checkEnds({ node: { paths, gateway }, at }: ParsedEdge, document: ConfigurationDocument): Diagnostic[] {
  if (paths === 'auto') return [];
  const host = typeof gateway === 'string' ? '' : gateway.address.host;
  const seen = new Set<string>();
  return paths.flatMap(({ local, remote }, index): Diagnostic[] => {
    const end = remote?.address ?? (isIP(host) === 0 ? undefined : host);
    const key = `${local} ${remote ? `${remote.address} ${remote.port}` : ''}`;
    const twice = seen.has(key);
    seen.add(key);
    if (end !== undefined && isIP(end) !== isIP(local)) {
      return [
        {
          code: 'CONFIG_CONFLICT',
          message: `a path from ${local} cannot lead to ${end}`,
          range: document.locateValue([...at, 'paths', index]),
          hint: 'use IPv4 at both ends, or IPv6 at both',
        },
      ];
    }
    return twice
      ? [
          {
            code: 'CONFIG_CONFLICT',
            message: 'this path appears twice',
            range: document.locateValue([...at, 'paths', index]),
            hint: 'remove one of them',
          },
        ]
      : [];
  });
}

interface Claim {
  owner: string;
  option: string;
  address: ListenAddress;
  path: ValuePath;
}

/** Refuses a second listener on a port. UDP and TCP ports of the same number are not told apart. */
function checkAddresses(nodes: readonly ParsedNode[], document: ConfigurationDocument): Diagnostic[] {
  const claims = nodes.flatMap(({ name, at, node }): Claim[] =>
    (['listen', 'http', 'admin', 'backbone'] as const).flatMap((option) => {
      const address = option === 'backbone' ? ('backbone' in node ? node.backbone : undefined) : node[option];
      if (!address || address.port === 0) return [];
      const owner = at.length === 0 ? '' : ` of \`${name}\``;
      return eachAddress(address).map((each) => ({ owner, option, address: each, path: [...at, option] }));
    }),
  );
  return claims.flatMap((claim, index): Diagnostic[] => {
    const earlier = claims.slice(0, index).find((other) => collide(other.address, claim.address));
    if (!earlier) return [];
    const message = `port ${claim.address.port} is already that of \`${earlier.option}\`${earlier.owner}`;
    return [{ code: 'CONFIG_CONFLICT', message, range: document.locateValue(claim.path), hint: 'choose another port' }];
  });
}

function collide(left: ListenAddress, right: ListenAddress): boolean {
  return (
    left.port === right.port &&
    (left.address === right.address || isWildcard(left.address) || isWildcard(right.address))
  );
}
