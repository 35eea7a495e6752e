import { resolve } from 'node:path';
import type { RouteOptions } from '../routing/options.js';
import type { TlsOptions } from '../tls/options.js';
import { isBuiltIn } from '../webtransport/built_in.js';
import type { NodeConfiguration } from './node.js';

/** The same configuration with every relative path taken from `directory`. */
export function resolvePaths(node: NodeConfiguration, directory: string): NodeConfiguration {
  const absolute = (path: string): string => resolve(directory, path);
  return {
    ...node,
    tls: resolveTls(node.tls, absolute),
    ...(node.qlog === undefined ? {} : { qlog: absolute(node.qlog) }),
    log: { ...node.log, ...(node.log.file === undefined ? {} : { file: absolute(node.log.file) }) },
    routes: node.routes.map((route) => resolveRoute(route, absolute)),
  };
}

export function resolveTls(tls: TlsOptions, absolute: (path: string) => string): TlsOptions {
  return tls === 'dev' ? 'dev' : { cert: absolute(tls.cert), key: absolute(tls.key) };
}

export function resolveRoute(route: RouteOptions, absolute: (path: string) => string): RouteOptions {
  if (route.files) return { ...route, files: { ...route.files, root: absolute(route.files.root) } };
  if (route.webtransport && !isBuiltIn(route.webtransport.application)) {
    return { ...route, webtransport: { ...route.webtransport, application: absolute(route.webtransport.application) } };
  }
  return route;
}
