import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseConfiguration } from '../../src/configuration/load.js';
import { Edge } from '../../src/edge/edge.js';
import { End } from '../../src/ends/end.js';
import { Gateway } from '../../src/gateway/gateway.js';
import { closeNodes, startNodes } from '../../src/nodes/start_nodes.js';
import { logTo } from './nodes.js';
import { temporaryDirectory } from './temporary_directory.js';

export interface Site {
  gateway: Gateway;
  ends: Record<string, End>;
  edge: Edge | undefined;
  directory: string;
  /** What all nodes logged so far, line by line. */
  log: Record<string, unknown>[];
}

export interface SiteDescription {
  /** Routes of the gateway, as YAML. */
  routes: string;
  /** Routes of each end. */
  ends: Record<string, string>;
  gateway?: string[];
  withEdge?: boolean;
  files: Record<string, string | Buffer>;
  /** One of the `ends:`, instead of its name. */
  endKeys?: (name: string) => string;
}

/** A gateway with ends, and an edge, in this process; stop with the test. */
export async function startSite({ routes, ends, gateway = [], withEdge = false, files, endKeys = (name) => name }: SiteDescription): Promise<Site> {
  const directory = await temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  const node = (name: string, lines: string[]): string => [`  ${name}:`, ...lines.map((line) => `    ${line}`)].join('\n');
  const listen = ['listen: 127.0.0.1:0', 'backbone: 127.0.0.1:0'];
  const text = [
    'nodes:',
    node('site', ['role: gateway', ...listen, `ends: [${Object.keys(ends).map(endKeys).join(', ')}]`, `routes: ${routes}`, ...gateway]),
    ...Object.entries(ends).map(([name, own]) => node(name, ['role: end', ...listen, 'primary: site', `routes: ${own}`])),
    ...(withEdge ? [node('laptop', ['role: edge', 'listen: 127.0.0.1:0', 'gateway: site', 'show_paths: true', 'paths: [{ local: 127.0.0.1 }]'])] : []),
  ].join('\n');
  const log: Record<string, unknown>[] = [];
  const nodes = await startNodes(parseConfiguration(text, join(directory, 'sheaf.yaml')).nodes, { logStream: logTo(log) });
  onTestFinished(() => closeNodes(nodes, 0));
  return {
    gateway: nodes.find((each) => each instanceof Gateway)!,
    ends: Object.fromEntries(nodes.flatMap((each) => (each instanceof End ? [[each.name, each]] : []))),
    edge: nodes.find((each) => each instanceof Edge),
    directory,
    log,
  };
}
