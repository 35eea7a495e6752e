import { resolve } from 'node:path';
import { z } from 'zod';
import { returnOptions, type ReturnOptions } from '../schema/backends.js';
import { forwardOptions } from '../schema/tunnel_node.js';
import { routeOptions, type RouteOptions } from '../schema/routes.js';
import { tlsOptions, type TlsOptions } from '../schema/tls.js';
import type { ValuePath } from '../values/document.js';
import { onlyNodeName } from '../schema/loaded.js';
import { isMap } from '../schema/node.js';
import { localPorts, type LocalPort } from './local_ports.js';
import { resolveRoute, resolveTls } from './paths.js';
import { listenAddress, listenAddresses, type ListenAddress, type ListenAddresses } from '../values/scalars.js';

/** The parts of a node that can be parsed, whatever is wrong with its other parts */
export interface VisibleConfiguration {
  name: string;
  /** Path to the keys of the node */
  at: ValuePath;
  listen?: ListenAddresses | undefined;
  http?: ListenAddress | undefined;
  admin?: ListenAddress | undefined;
  backbone?: ListenAddress | undefined;
  /** Ports of a tunnel node */
  localPorts: readonly LocalPort[];
  /** Addresses from which a backend sends */
  return?: ReturnOptions | undefined;
  tls?: TlsOptions | undefined;
  /** Routes in the order of the file; undefined stands for a route that cannot be parsed */
  routes: readonly (RouteOptions | undefined)[];
  /** File with the authorities of an edge's gateway */
  certificateAuthority?: string | undefined;
}

/** Returns the nodes of a file, each as far as it can be parsed. */
export function visibleNodes(value: unknown, directory: string): VisibleConfiguration[] {
  const nodes = isMap(value) ? value['nodes'] : undefined;
  if (!isMap(nodes)) return [{ name: onlyNodeName, ...visibleParts(value, directory, []) }];
  return Object.entries(nodes).map(([name, node]) => ({ name, ...visibleParts(node, directory, ['nodes', name]) }));
}

/** Parses each part by itself, so that a fault in one does not hide faults in the next. */
function visibleParts(value: unknown, directory: string, at: ValuePath): Omit<VisibleConfiguration, 'name'> {
  const holder = isMap(value) ? value : {};
  const absolute = (path: string): string => resolve(directory, path);
  const tls = understood(tlsOptions, holder['tls']);
  const routes = Array.isArray(holder['routes']) ? (holder['routes'] as unknown[]) : [];
  const gateway = isMap(holder['gateway']) ? holder['gateway'] : {};
  const authority = isMap(gateway['certificate']) ? gateway['certificate']['ca'] : undefined;
  return {
    at,
    listen: understood(listenAddresses, holder['listen']),
    http: understood(listenAddress, holder['http']),
    admin: understood(listenAddress, holder['admin']),
    backbone: understood(listenAddress, holder['backbone']),
    localPorts: localPorts({
      socks5: understood(listenAddress, holder['socks5']),
      http_proxy: understood(listenAddress, holder['http_proxy']),
      forward: understood(z.array(forwardOptions), holder['forward']),
    }),
    return: understood(returnOptions, holder['return']),
    tls: tls && resolveTls(tls, absolute),
    certificateAuthority: typeof authority === 'string' ? absolute(authority) : undefined,
    routes: routes.map((item) => {
      const route = understood(routeOptions, item);
      return route && resolveRoute(route, absolute);
    }),
  };
}

/** Parses a value with the schema, without the keys that the schema refuses. */
function understood<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> | undefined {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  if (typeof value !== 'object' || value === null) return undefined;
  const faulty = new Set(
    parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys : issue.path.slice(0, 1).map(String),
    ),
  );
  const rest = Object.entries(value).filter(([key]) => !faulty.has(key));
  return schema.safeParse(Object.fromEntries(rest)).data;
}
