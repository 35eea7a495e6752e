import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@sheaf/gateway/client';
import { CalledProcess } from '../../process/called_process.js';
import type { Own } from '../../process/owned_programs.js';
import { Program } from '../../process/program.js';
import { repositoryCache } from '../../process/workspace.js';
import type { CarrierCall } from './carrier_process.js';
import type { CarrierName, ProxyName } from './plans.js';
import type { Site } from './site.js';

export interface StartedServer {
  port: number;
  pid: number;
}

export interface StartedProxy extends StartedServer {
  /** Template of the paths of its tunnels */
  template: string;
}

/** The program on masque-go, which is a proxy and a client */
export const masqueProgram = (): string => join(repositoryCache(), 'interop-go', 'masque');

type Routes = readonly Record<string, unknown>[];

/** Returns what a gateway is configured with: as the server, or as the proxy to it. */
export const gatewayConfiguration = (port: number, { cert, key }: Pick<Site, 'cert' | 'key'>, routes: Routes) => ({
  listen: `127.0.0.1:${port}`,
  tls: { cert, key },
  log: { level: 'warn' },
  routes,
});

export const serverRoutes = (files: string): Routes => [{ path: '/', files }];
/** Idle tunnels come from several addresses, and are as many as there can be. */
export const proxyRoutes = (server: number): Routes => [
  {
    path: '/.well-known/masque/udp/',
    connect_udp: { allow: `127.0.0.1:${server}`, clients: ['127.0.0.0/8'], tunnels: 100_000 },
  },
];

/** Starts gateways in one process, one for each of these sets of routes. @throws UserError */
export async function startGateways(
  site: Site,
  name: string,
  gateways: readonly Routes[],
  own: Own,
): Promise<{ ports: number[]; pid: number }> {
  const ports = await Promise.all(gateways.map(() => freePort()));
  const nodes = Object.fromEntries(
    gateways.map((routes, index) => [
      `${name}-${index + 1}`,
      { role: 'gateway', ...gatewayConfiguration(ports[index] ?? 0, site, routes) },
    ]),
  );
  const configuration = join(site.directory, `${name}-${ports[0] ?? 0}.yaml`);
  await writeFile(configuration, JSON.stringify({ nodes }));
  const module = join(import.meta.dirname, '..', '..', 'http', 'sheaf_process.js');
  const program = own(new Program([process.execPath, module, configuration]));
  await program.prints(/^ready$/);
  return { ports, pid: program.pid };
}

/** Starts a gateway in a process of its own. @throws UserError */
export async function startGateway(site: Site, name: string, routes: Routes, own: Own): Promise<StartedServer> {
  const { ports, pid } = await startGateways(site, name, [routes], own);
  return { port: ports[0] ?? 0, pid };
}

type StartProxy = (site: Site, server: number, own: Own) => Promise<StartedProxy>;

/** Template of the paths of tunnels through a gateway */
export const GATEWAY_TEMPLATE = '/.well-known/masque/udp/{target_host}/{target_port}/';

/** Starts proxies, by name. They permit tunnels to the server. @throws UserError */
export const startProxy: Readonly<Record<ProxyName, StartProxy>> = {
  async sheaf(site, server, own) {
    const started = await startGateway(site, 'proxy', proxyRoutes(server), own);
    return { ...started, template: GATEWAY_TEMPLATE };
  },
  async 'masque-go'({ cert, key }, _server, own) {
    const program = own(new Program([masqueProgram(), '-serve', cert, '-key', key]));
    const line = await program.prints(/^serving /);
    return {
      port: Number(/\d+$/.exec(line)?.[0]),
      pid: program.pid,
      template: '/masque?h={target_host}&p={target_port}',
    };
  },
};

/** Returns the path of a tunnel to a port of this machine. */
export const pathOf = (template: string, target: number): string =>
  template.replace('{target_host}', '127.0.0.1').replace('{target_port}', String(target));

export interface Carrier {
  /** Local ports that lead to the target */
  ports: number[];
  pid: number;
}

type StartCarrier = (
  proxy: StartedProxy,
  tunnels: { site: Site; target: number; count: number },
  own: Own,
) => Promise<Carrier>;

/** Starts clients of a proxy, by name. @throws UserError */
export const startCarrier: Readonly<Record<CarrierName, StartCarrier>> = {
  async sheaf({ port, template }, { target, count }, own) {
    const module = join(import.meta.dirname, 'carrier_process.js');
    const program = own(new CalledProcess<CarrierCall>('the client of the proxy', module));
    return {
      ports: await program.call<number[]>({ port, path: pathOf(template, target), tunnels: count }),
      pid: program.pid,
    };
  },
  async 'masque-go'({ port, template }, { site, target, count }, own) {
    const words = ['-template', `https://127.0.0.1:${port}${template}`, '-authority', site.cert];
    const tunnels = ['-tunnels', String(count), '-forward', `127.0.0.1:${target}`];
    const program = own(new Program([masqueProgram(), ...words, ...tunnels]));
    const line = await program.prints(/^ports /);
    return { ports: line.split(' ').slice(1).map(Number), pid: program.pid };
  },
};
