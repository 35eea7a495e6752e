import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import { freePort } from '../../src/values/free_port.js';
import { formatSecrets, renewSecrets } from '../../src/tls/server_secrets.js';
import { startUpstream } from './upstream.js';
import { temporaryDirectory } from './temporary_directory.js';
import { writeFiles } from './write_files.js';

/** Downloads that the test feeds */
export interface Downloads {
  origin: string;
  /** Writes the text to each of them. */
  feed(text: string): void;
  end(): void;
}

/** An upstream whose downloads the test feeds. It is healthy when asked for `/`. */
export async function startDownloads(): Promise<Downloads> {
  const open: ServerResponse[] = [];
  const { origin } = await startUpstream((request, response) => {
    if (request.url === '/') return void response.end();
    open.push(response);
    response.write('begin ');
  });
  return {
    origin,
    feed: (text) => open.forEach((response) => response.write(text)),
    end: () => open.forEach((response) => response.end('end')),
  };
}

interface Ports {
  listen: number;
  admin: number;
  /** Nothing is there on an edge */
  backbone: number;
}

const freePorts = async (): Promise<Ports> => ({
  listen: await freePort(),
  admin: await freePort(),
  backbone: await freePort(),
});

/** What a generation of the configuration answers on each page */
export const textOf = (generation: number): string => (generation % 2 === 0 ? 'even' : 'odd');

export interface LoadedSite {
  /** The configuration file */
  file: string;
  gateway: Ports;
  backend: Ports;
  edge: Ports;
  downloads: Downloads;
  /** Returns the configuration of a generation. Each differs in every route but the one for sessions, and in limits. */
  yamlOf(generation: number): string;
  /** Writes the configuration of a generation. */
  write(generation: number): Promise<void>;
}

export interface LoadedSiteOptions {
  /** Worker threads of both nodes; default: the main thread serves */
  workers?: number;
  /** Whether an edge `laptop` leads to the gateway */
  edge?: boolean;
  /** Whether the nodes know each other by a registry, and the gateway is one of several machines */
  fleet?: boolean;
}

/** A gateway with all that clients can load, a backend, and maybe an edge, as files */
export async function loadedSite({
  workers,
  edge: withEdge = false,
  fleet = false,
}: LoadedSiteOptions = {}): Promise<LoadedSite> {
  const [directory, downloads] = [await temporaryDirectory(), await startDownloads()];
  const [gateway, backend, edge] = [await freePorts(), await freePorts(), await freePorts()];
  const ofAll = workers === undefined ? [] : [`    workers: ${workers}`];
  const ofFile = fleet ? ['registry: { file: ./registry }'] : [];
  const ofGateway = fleet ? [...machineYaml('01'), `    forward: { listen: 127.0.0.1:${await freePort()} }`] : [];
  const ofBackend = fleet ? machineYaml('02') : [];
  const yamlOf = (generation: number): string =>
    [
      ...[...ofFile, 'nodes:', gatewayYaml(gateway, downloads.origin, generation), ...ofGateway, ...ofAll],
      ...[backendYaml({ backend, gateway }, downloads.origin, generation), ...ofBackend, ...ofAll],
      ...(withEdge ? [edgeYaml(edge), ...ofAll] : []),
      '',
    ].join('\n');
  const write = (generation: number): Promise<void> => writeFiles(directory, { 'sheaf.yaml': yamlOf(generation) });
  await writeFiles(directory, { 'even/a.txt': 'even', 'odd/a.txt': 'odd' });
  // Files that changed a moment ago have no strong entity tag, and are not returned.
  for (const name of ['even', 'odd']) await utimes(join(directory, name, 'a.txt'), 1e9, 1e9);
  await writeFile(join(directory, 'secrets'), formatSecrets(renewSecrets([])), { mode: 0o600 });
  await write(0);
  return { file: join(directory, 'sheaf.yaml'), gateway, backend, edge, downloads, yamlOf, write };
}

const addresses = ({ listen, admin, backbone }: Ports): string =>
  `    listen: 127.0.0.1:${listen}
    admin: 127.0.0.1:${admin}
    backbone: 127.0.0.1:${backbone}`;

/** What tells the connection ids of a node from those of others */
const machineYaml = (id: string): string[] => ['    secrets: ./secrets', `    connection_ids: { server_id: "${id}" }`];

const gatewayYaml = (ports: Ports, origin: string, generation: number): string => `  site:
    role: gateway
${addresses(ports)}
    backends: [one]
    limits: { body_size: ${generation + 1}MiB, slow_responses: ${100 + generation} }
    routes:
      - { path: /page, files: ./${textOf(generation)} }
      - { path: /download, upstream: { to: "${origin}", queue: ${100 + generation}, health: { path: /, interval: 100ms } } }
      - { path: /echo, webtransport: echo }
      - { path: /udp, connect_udp: { allow: 127.0.0.1, clients: 127.0.0.0/8, tunnels: ${10 + generation} } }
      - { connect: { allow: 127.0.0.1, clients: 127.0.0.0/8, tunnels: ${10 + generation} } }
      - { path: /one, backends: [one] }
      - { path: /returned, backends: [one], delivery: [return, proxy] }`;

const backendYaml = (
  { backend, gateway }: { backend: Ports; gateway: Ports },
  origin: string,
  generation: number,
): string => `  one:
    role: backend
${addresses(backend)}
    primary: site
    return: { from: "127.0.0.1:${gateway.listen}", via: own-address }
    routes:
      - { path: /one/download, upstream: { to: "${origin}", queue: ${100 + generation} } }
      - { path: /one, files: ./${textOf(generation)} }
      - { path: /returned, files: ./${textOf(generation)} }`;

const edgeYaml = ({ listen, admin }: Ports): string => `  laptop:
    role: edge
    listen: 127.0.0.1:${listen}
    admin: 127.0.0.1:${admin}
    gateway: site
    paths: [{ local: 127.0.0.1 }, { local: 127.0.0.2 }]`;
