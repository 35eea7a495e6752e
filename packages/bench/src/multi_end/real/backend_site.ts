import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startCaddyWith, type GatewayUnderTest } from '../../http/gateways.js';
import type { FoundNginx } from '../../http/nginx.js';
import { freePort } from '@sheaf/gateway/client';
import { firstOutput, stop } from '../../process/service.js';
import { startNginxProxy } from './nginx_proxy.js';

/** How a gateway delivers responses of its backends */
export type SheafDelivery = 'direct' | 'proxy' | 'return';

/** A primary and its backends, each in a process of its own, and other proxies in front of the same backends */
export interface BackendSite {
  /** Port of the primary, on 127.0.0.1 */
  port: number;
  /** Port of the primary's status, on 127.0.0.1 */
  admin: number;
  primary: number;
  backends: number[];
  /** Undefined when it is not installed */
  caddy: GatewayUnderTest | undefined;
  /** Undefined when nobody measures it */
  nginx: GatewayUnderTest | undefined;
  stop(): Promise<unknown>;
}

const longAgo = new Date('2026-01-01T00:00:00Z');

export interface BackendPorts {
  name: string;
  listen: number;
  backbone: number;
  /** Port for HTTP/1.1 without TLS, which other proxies use */
  http: number;
}

export const paths = {
  download: (delivery: SheafDelivery, bytes: number): string => `/${delivery}/${bytes}`,
  upload: (delivery: SheafDelivery): string => `/${delivery}/upload`,
  /** What a program behind the backends answers with the time at which it was asked */
  clock: (delivery: SheafDelivery): string => `/${delivery}/clock`,
};

/** What a site consists of */
export interface SiteOptions {
  /** Bytes of its files */
  sizes: readonly number[];
  /** Ways of delivery, each with a route of its own. `return` makes backends send from the primary's address. */
  deliveries: readonly SheafDelivery[];
  /** Command of Caddy; undefined to do without it */
  caddyCommand: string | undefined;
  /** Undefined to do without it */
  nginx?: FoundNginx;
  /** Script of a program behind the backends that tells the time; undefined to do without it */
  clockScript?: string;
}

/**
 * Starts a site. Its backends have a file of each size for each delivery, and pass uploads to a server that counts them.
 * @throws UserError
 */
export async function startBackendSite(
  directory: string,
  count: number,
  { sizes, deliveries, caddyCommand, nginx: foundNginx, clockScript }: SiteOptions,
): Promise<BackendSite> {
  const children: ChildProcess[] = [];
  const start = async (script: string, name: string, ...args: string[]): Promise<{ pid: number; said: string }> => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return { said: await firstOutput(child, name), pid: child.pid ?? 0 };
  };
  const others: (GatewayUnderTest | undefined)[] = [];
  const stopAll = (): Promise<unknown> => Promise.all([...children.map(stop), ...others.map((other) => other?.stop())]);
  try {
    await writeFiles(join(directory, 'files'), deliveries, sizes);
    const sink = await start(join(import.meta.dirname, 'upload_sink.js'), 'the server behind the backends');
    const clock = clockScript === undefined ? undefined : await start(clockScript, 'the clock behind the backends');
    const backends = await Promise.all(Array.from({ length: count }, (_, index) => portsOf(`backend${index + 1}`)));
    const [port, admin] = [await freePort(), await freePort()];
    const configuration = join(directory, 'sheaf.yaml');
    await writeFile(
      configuration,
      // JSON is valid YAML.
      JSON.stringify(
        siteConfiguration({
          port,
          admin,
          deliveries,
          backbone: await freePort(),
          backends,
          sink: `http://127.0.0.1:${sink.said.trim()}`,
          ...(clock && { clock: `http://127.0.0.1:${clock.said.trim()}` }),
        }),
      ),
    );
    const node = async (name: string): Promise<number> =>
      (await start(join(import.meta.dirname, '../../http/sheaf_process.js'), name, configuration, name)).pid;
    const backendPids: number[] = [];
    for (const { name } of backends) backendPids.push(await node(name));
    const primary = await node('site');
    const upstreams = upstreamsOf(backends);
    const caddy =
      caddyCommand === undefined
        ? undefined
        : await startCaddyWith(directory, proxyDirectives(upstreams), caddyCommand);
    others.push(caddy);
    const nginx = foundNginx && (await startNginxProxy(directory, upstreams, foundNginx));
    others.push(nginx);
    return { port, admin, primary, backends: backendPids, caddy, nginx, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Returns the addresses by which other proxies reach the backends. */
export const upstreamsOf = (backends: readonly BackendPorts[]): string[] =>
  backends.map(({ http }) => `127.0.0.1:${http}`);

/**
 * Returns the directives of a Caddy in front of backends. It closes idle connections before the backends do, which
 * wait for 30 s: a request on a connection that the backend closes would fail.
 */
export const proxyDirectives = (upstreams: readonly string[]): string[] => [
  `reverse_proxy ${upstreams.join(' ')} {`,
  'transport http {',
  'keepalive 20s',
  '}',
  '}',
];

async function portsOf(name: string): Promise<BackendPorts> {
  return { name, listen: await freePort(), backbone: await freePort(), http: await freePort() };
}

async function writeFiles(
  files: string,
  deliveries: readonly SheafDelivery[],
  sizes: readonly number[],
): Promise<void> {
  for (const delivery of deliveries) {
    await mkdir(join(files, delivery), { recursive: true });
    for (const bytes of sizes) {
      const file = join(files, paths.download(delivery, bytes));
      await writeFile(file, Buffer.alloc(bytes, 'sheaf '));
      // What changed a moment ago has a weak entity tag.
      await utimes(file, longAgo, longAgo);
    }
  }
}

/** Returns the configuration of the primary, `site`, and of its backends. */
export function siteConfiguration({
  port,
  admin,
  deliveries,
  backbone,
  backends,
  sink,
  clock,
}: {
  port: number;
  admin: number;
  deliveries: readonly SheafDelivery[];
  backbone: number;
  backends: readonly BackendPorts[];
  sink: string;
  clock?: string;
}): { nodes: { site: Record<string, unknown> } & Record<string, Record<string, unknown>> } {
  const names = backends.map(({ name }) => name);
  const log = { level: 'warn' };
  const listen = `127.0.0.1:${port}`;
  const uploads = deliveries.map((delivery) => ({ path: paths.upload(delivery), upstream: sink }));
  const clocks = clock === undefined ? [] : deliveries.map((each) => ({ path: paths.clock(each), upstream: clock }));
  const site = {
    role: 'gateway',
    listen,
    backbone: `127.0.0.1:${backbone}`,
    admin: `127.0.0.1:${admin}`,
    log,
    backends: names,
    routes: deliveries.map((delivery) => ({
      path: `/${delivery}`,
      backends: names,
      delivery: delivery === 'return' ? ['return', 'proxy'] : delivery,
    })),
  };
  const described = backends.map(
    ({ name, listen: own, backbone: ownBackbone, http }): [string, Record<string, unknown>] => [
      name,
      {
        role: 'backend',
        listen: `127.0.0.1:${own}`,
        backbone: `127.0.0.1:${ownBackbone}`,
        http: `127.0.0.1:${http}`,
        log,
        primary: 'site',
        // Another proxy has all of its connections from one address.
        limits: { connections_per_network: 10_000 },
        ...(deliveries.includes('return') && { return: { from: listen, via: 'own-address' } }),
        routes: [...uploads, ...clocks, { path: '/', files: './files' }],
      },
    ],
  );
  return { nodes: { site, ...Object.fromEntries(described) } };
}
