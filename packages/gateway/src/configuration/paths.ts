import { resolve } from 'node:path';
import type { NodeKeyOptions } from '../schema/backbone.js';
import type { EdgeConfiguration } from '../schema/edge.js';
import type { BackendConfiguration } from '../schema/backends.js';
import type { ChannelOptions } from '../schema/channels.js';
import { tunnelKeys, type RouteOptions } from '../schema/routes.js';
import type { TlsOptions } from '../schema/tls.js';
import type { UpstreamTlsOptions } from '../schema/upstream.js';
import { isBuiltIn } from '../targets/webtransport/built_in.js';
import type { NodeConfiguration } from '../schema/node.js';
import type { TunnelNodeConfiguration } from '../schema/tunnel_node.js';
import type { UplinkConfiguration } from '../schema/uplink.js';

/** Keys that name files in every role */
type FileKeys = Pick<NodeConfiguration, 'qlog' | 'log'> & Partial<Pick<NodeConfiguration, 'secrets'>>;

/** Returns the same configuration with relative paths resolved against `directory`. */
export function resolvePaths<Node extends NodeConfiguration | BackendConfiguration>(
  node: Node,
  directory: string,
): Node {
  const absolute = (path: string): string => resolve(directory, path);
  return {
    ...resolveFileKeys(node, absolute),
    tls: resolveTls(node.tls, absolute),
    key: resolveKey(node.key, absolute),
    ...('channels' in node && { channels: resolveChannels(node.channels, absolute) }),
    routes: node.routes.map((route) => resolveRoute(route, absolute)),
  };
}

export function resolveEdgePaths(edge: EdgeConfiguration, directory: string): EdgeConfiguration {
  const absolute = (path: string): string => resolve(directory, path);
  return {
    ...resolveFileKeys(edge, absolute),
    tls: resolveTls(edge.tls, absolute),
    gateway: resolveGateway(edge.gateway, absolute),
  };
}

export function resolveTunnelPaths(tunnel: TunnelNodeConfiguration, directory: string): TunnelNodeConfiguration {
  const absolute = (path: string): string => resolve(directory, path);
  const { user, gateway } = tunnel;
  return {
    ...resolveFileKeys(tunnel, absolute),
    gateway: resolveGateway(gateway, absolute),
    ...(user && { user: 'file' in user ? { file: absolute(user.file) } : user }),
  };
}

function resolveGateway(
  gateway: UplinkConfiguration['gateway'],
  absolute: (path: string) => string,
): UplinkConfiguration['gateway'] {
  if (typeof gateway === 'string' || typeof gateway.certificate !== 'object' || gateway.certificate.ca === undefined)
    return gateway;
  return { ...gateway, certificate: { ca: absolute(gateway.certificate.ca) } };
}

function resolveFileKeys<Node extends FileKeys>(node: Node, absolute: (path: string) => string): Node {
  return {
    ...node,
    ...(node.qlog === undefined ? {} : { qlog: absolute(node.qlog) }),
    ...(node.secrets === undefined ? {} : { secrets: absolute(node.secrets) }),
    log: { ...node.log, ...(node.log.file === undefined ? {} : { file: absolute(node.log.file) }) },
  };
}

function resolveKey(key: NodeKeyOptions, absolute: (path: string) => string): NodeKeyOptions {
  return key === 'dev' ? 'dev' : { file: absolute(key.file) };
}

function resolveChannels(
  channels: Readonly<Record<string, ChannelOptions>>,
  absolute: (path: string) => string,
): Record<string, ChannelOptions> {
  return Object.fromEntries(
    Object.entries(channels).map(([name, { key, ...channel }]) => [
      name,
      { ...channel, ...(key === undefined ? {} : { key: absolute(key) }) },
    ]),
  );
}

export function resolveTls(tls: TlsOptions, absolute: (path: string) => string): TlsOptions {
  return tls === 'dev' ? 'dev' : { ...tls, cert: absolute(tls.cert), key: absolute(tls.key) };
}

export function resolveRoute(route: RouteOptions, absolute: (path: string) => string): RouteOptions {
  if (route.files) return { ...route, files: { ...route.files, root: absolute(route.files.root) } };
  for (const key of tunnelKeys) {
    const users = route[key]?.users;
    if (users !== undefined) return { ...route, [key]: { ...route[key], users: absolute(users) } };
  }
  if (route.upstream?.tls)
    return { ...route, upstream: { ...route.upstream, tls: resolveUpstreamTls(route.upstream.tls, absolute) } };
  if (route.webtransport && !isBuiltIn(route.webtransport.application)) {
    return { ...route, webtransport: { ...route.webtransport, application: absolute(route.webtransport.application) } };
  }
  return route;
}

function resolveUpstreamTls(
  { ca, certificate, ...tls }: UpstreamTlsOptions,
  absolute: (path: string) => string,
): UpstreamTlsOptions {
  return {
    ...tls,
    ...(ca === undefined ? {} : { ca: absolute(ca) }),
    ...(certificate === undefined
      ? {}
      : { certificate: { cert: absolute(certificate.cert), key: absolute(certificate.key) } }),
  };
}
