import { isIP } from 'node:net';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import { closest } from '../values/known_keys.js';
import type { ParsedNode } from './parsed_node.js';

/** A node with a connection to a gateway */
export type ParsedUplink = Extract<ParsedNode, { role: 'edge' | 'tunnel' }>;

const nouns = { gateway: 'a gateway', backend: 'a backend', edge: 'an edge', tunnel: 'a tunnel' } as const;

/** Returns what is wrong with the gateway and the paths of a node. */
export function checkUplink(
  node: ParsedUplink,
  nodes: readonly ParsedNode[],
  document: ConfigurationDocument,
): Diagnostic[] {
  return [...checkGateway(node, nodes, document), ...checkEnds(node, document), ...checkWeights(node, document)];
}

function checkGateway(
  { role, node, at }: ParsedUplink,
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
        message: `the gateway \`${gateway}\` does not serve HTTP/3, by which ${nouns[role]} reaches it`,
        range,
        hint: 'add `h3` to its `alpn`',
      },
    ];
  }
  if (target)
    return [
      {
        code: 'CONFIG_VALUE',
        message: `\`${gateway}\` is ${nouns[target.role]}, not a gateway`,
        range,
        hint: `${nouns[role]} leads to a gateway`,
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

function checkWeights(
  { node: { paths, path_scheduler: scheduler }, at }: ParsedUplink,
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

function checkEnds({ node: { paths, gateway }, at }: ParsedUplink, document: ConfigurationDocument): Diagnostic[] {
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
