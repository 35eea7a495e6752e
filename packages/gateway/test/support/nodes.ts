import { mkdir, writeFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseConfiguration } from '../../src/configuration/load.js';
import type { LoadedConfiguration } from '../../src/schema/loaded.js';
import { Edge } from '../../src/nodes/edge/edge.js';
import { Gateway } from '../../src/nodes/gateway.js';
import type { RunningNode } from '../../src/nodes/life/running_node.js';
import { closeNodes, startNodes } from '../../src/nodes/start_nodes.js';
import { temporaryDirectory } from './temporary_directory.js';

export interface Pair {
  gateway: Gateway;
  edge: Edge;
  /** Port of the edge, on 127.0.0.1. */
  port: number;
  directory: string;
  loaded: LoadedConfiguration;
  /** What both logged so far, line by line. */
  log: Record<string, unknown>[];
}

export interface PairOptions {
  /** Keys of the gateway, as a YAML map's lines. */
  gateway: string[];
  /** Further keys of the edge. */
  edge?: string[];
  /** Port of the gateway; default: a free one. */
  gatewayPort?: number;
  /** Files of the directory `site`. */
  files?: Record<string, string | Buffer>;
}

export function logTo(log: Record<string, unknown>[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().trim().split('\n')) log.push(JSON.parse(line) as Record<string, unknown>);
      done();
    },
  });
}

/** A gateway and an edge that leads to it, from one file, in this process; stop with the test. */
export async function startPair({ gateway, edge = [], gatewayPort = 0, files = {} }: PairOptions): Promise<Pair> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, 'site', name), content);
  const { nodes, loaded, log } = await startNamed(directory, {
    laptop: ['role: edge', 'listen: 127.0.0.1:0', 'gateway: site', ...edge],
    site: ['role: gateway', `listen: 127.0.0.1:${gatewayPort}`, ...gateway],
  });
  const [first, second] = nodes;
  if (!(first instanceof Edge) || !(second instanceof Gateway))
    throw new Error('the nodes are not in the order of the file');
  return { edge: first, gateway: second, port: first.address.port, directory, loaded, log };
}

export interface StartedNodes {
  nodes: RunningNode[];
  loaded: LoadedConfiguration;
  /** What they logged so far, line by line. */
  log: Record<string, unknown>[];
}

/** Nodes of one file, each with its keys as a YAML map's lines; stop with the test. */
export async function startNamed(directory: string, named: Record<string, string[]>): Promise<StartedNodes> {
  const node = ([name, keys]: [string, string[]]): string =>
    [`  ${name}:`, ...keys.map((line) => `    ${line}`)].join('\n');
  const text = ['nodes:', ...Object.entries(named).map(node)].join('\n');
  const loaded = parseConfiguration(text, join(directory, 'sheaf.yaml'));
  const log: Record<string, unknown>[] = [];
  const nodes = await startNodes(loaded.nodes, { logStream: logTo(log) });
  onTestFinished(() => closeNodes(nodes, 0));
  return { nodes, loaded, log };
}
