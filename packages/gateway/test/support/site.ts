import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseConfiguration } from '../../src/configuration/load.js';
import { Edge } from '../../src/nodes/edge/edge.js';
import { Backend } from '../../src/nodes/backend.js';
import { Gateway } from '../../src/nodes/gateway.js';
import { closeNodes, startNodes } from '../../src/nodes/start_nodes.js';
import { logTo } from './nodes.js';
import { temporaryDirectory } from './temporary_directory.js';
import { writeFiles } from './write_files.js';

export interface Site {
  gateway: Gateway;
  backends: Record<string, Backend>;
  edge: Edge | undefined;
  directory: string;
  /** What all nodes logged so far, line by line. */
  log: Record<string, unknown>[];
}

/** What the gateway logged about requests of its clients; backends log the requests that they get over the backbone. */
export function linesOfGateway({ gateway, log }: Site): Record<string, unknown>[] {
  const own = new Set<unknown>(gateway.status().connections.map(({ id }) => id));
  return log.filter(({ msg, connection }) => msg === 'request' && (connection === undefined || own.has(connection)));
}

export interface SiteDescription {
  /** Routes of the gateway, as YAML. */
  routes: string;
  /** Routes of each backend. */
  backends: Record<string, string>;
  gateway?: string[];
  /** Port of the gateway; 0 asks the system for a free one. */
  port?: number;
  /** Further lines of each backend. */
  backend?: string[];
  withEdge?: boolean;
  files: Record<string, string | Buffer>;
  /** One of the `backends:`, instead of its name. */
  backendKeys?: (name: string) => string;
}

/** A gateway with backends, and an edge, in this process; stop with the test. */
export async function startSite({
  routes,
  backends,
  gateway = [],
  port = 0,
  backend = [],
  withEdge = false,
  files,
  backendKeys = (name) => name,
}: SiteDescription): Promise<Site> {
  const directory = await temporaryDirectory();
  await writeFiles(directory, files);
  const node = (name: string, lines: string[]): string =>
    [`  ${name}:`, ...lines.map((line) => `    ${line}`)].join('\n');
  const listen = (at = 0): string[] => [`listen: 127.0.0.1:${at}`, 'backbone: 127.0.0.1:0'];
  const text = [
    'nodes:',
    node('site', [
      'role: gateway',
      ...listen(port),
      `backends: [${Object.keys(backends).map(backendKeys).join(', ')}]`,
      `routes: ${routes}`,
      ...gateway,
    ]),
    ...Object.entries(backends).map(([name, own]) =>
      node(name, ['role: backend', ...listen(), 'primary: site', `routes: ${own}`, ...backend]),
    ),
    ...(withEdge
      ? [
          node('laptop', [
            'role: edge',
            'listen: 127.0.0.1:0',
            'gateway: site',
            'show_paths: true',
            'paths: [{ local: 127.0.0.1 }]',
          ]),
        ]
      : []),
  ].join('\n');
  const log: Record<string, unknown>[] = [];
  const nodes = await startNodes(parseConfiguration(text, join(directory, 'sheaf.yaml')).nodes, {
    logStream: logTo(log),
  });
  onTestFinished(() => closeNodes(nodes, 0));
  return {
    gateway: nodes.find((each) => each instanceof Gateway)!,
    backends: Object.fromEntries(nodes.flatMap((each) => (each instanceof Backend ? [[each.name, each]] : []))),
    edge: nodes.find((each) => each instanceof Edge),
    directory,
    log,
  };
}
