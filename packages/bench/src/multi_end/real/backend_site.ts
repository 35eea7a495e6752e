import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startCaddyWith, type GatewayUnderTest } from '../../http/gateways.js';
import type { FoundNginx } from '../../http/nginx.js';
import { freePort } from '@sheaf/gateway/client';
import { firstOutput, stop } from '../../process/service.js';
import { startNginxProxy } from './nginx_proxy.js';

/** How a gateway delivers responses of its backends */
export type SheafDelivery = 'direct' | 'proxy';

/** A primary and its backends, each in a process of its own, and other proxies in front of the same backends */
export interface BackendSite {
  /** Port of the primary, on 127.0.0.1 */
  port: number;
  primary: number;
  backends: number[];
  /** Undefined when it is not installed */
  caddy: GatewayUnderTest | undefined;
  /** Undefined when nobody measures it */
  nginx: GatewayUnderTest | undefined;
  stop(): Promise<unknown>;
}

export interface BackendPorts {
  name: string;
  listen: number;
  backbone: number;
  /** Port for HTTP/1.1 without TLS, which other proxies use */
  http: number;
}

export const paths = {
  download: (delivery: SheafDelivery): string => `/${delivery}/file`,
  upload: (delivery: SheafDelivery): string => `/${delivery}/upload`,
};

/** What a site consists of */
export interface SiteOptions {
  /** Bytes of its file */
  bytes: number;
  /** Command of Caddy; undefined to do without it */
  caddyCommand: string | undefined;
  /** Undefined to do without it */
  nginx?: FoundNginx;
}

/**
 * Starts a site. Its backends have a file of `bytes` for both deliveries, and pass uploads to a server that counts
 * them. @throws UserError
 */
export async function startBackendSite(
  directory: string,
  count: number,
  { bytes, caddyCommand, nginx: foundNginx }: SiteOptions,
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
    await writeFiles(join(directory, 'files'), bytes);
    const sink = await start(join(import.meta.dirname, 'upload_sink.js'), 'the server behind the backends');
    const backends = await Promise.all(Array.from({ length: count }, (_, index) => portsOf(`backend${index + 1}`)));
    const port = await freePort();
    const configuration = join(directory, 'sheaf.yaml');
    await writeFile(
      configuration,
      // JSON is valid YAML.
      JSON.stringify(
        siteConfiguration({
          port,
          backbone: await freePort(),
          backends,
          sink: `http://127.0.0.1:${sink.said.trim()}`,
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
    return { port, primary, backends: backendPids, caddy, nginx, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Returns the addresses by which other proxies reach the backends. */
export const upstreamsOf = (backends: readonly BackendPorts[]): string[] =>
  backends.map(({ http }) => `127.0.0.1:${http}`);

/** Returns the directives of a Caddy in front of backends. */
export const proxyDirectives = (upstreams: readonly string[]): string[] => [`reverse_proxy ${upstreams.join(' ')}`];

async function portsOf(name: string): Promise<BackendPorts> {
  return { name, listen: await freePort(), backbone: await freePort(), http: await freePort() };
}

async function writeFiles(files: string, bytes: number): Promise<void> {
  for (const delivery of ['direct', 'proxy'] as const) {
    await mkdir(join(files, delivery), { recursive: true });
    await writeFile(join(files, paths.download(delivery)), Buffer.alloc(bytes, 'sheaf '));
  }
}

/** Returns the configuration of the primary, `site`, and of its backends. */
export function siteConfiguration({
  port,
  backbone,
  backends,
  sink,
}: {
  port: number;
  backbone: number;
  backends: readonly BackendPorts[];
  sink: string;
}): { nodes: { site: Record<string, unknown> } & Record<string, Record<string, unknown>> } {
  const names = backends.map(({ name }) => name);
  const log = { level: 'warn' };
  const uploads = (['direct', 'proxy'] as const).map((delivery) => ({ path: paths.upload(delivery), upstream: sink }));
  const site = {
    role: 'gateway',
    listen: `127.0.0.1:${port}`,
    backbone: `127.0.0.1:${backbone}`,
    log,
    backends: names,
    routes: (['direct', 'proxy'] as const).map((delivery) => ({ path: `/${delivery}`, backends: names, delivery })),
  };
  const described = backends.map(({ name, listen, backbone: own, http }): [string, Record<string, unknown>] => [
    name,
    {
      role: 'backend',
      listen: `127.0.0.1:${listen}`,
      backbone: `127.0.0.1:${own}`,
      http: `127.0.0.1:${http}`,
      log,
      primary: 'site',
      routes: [...uploads, { path: '/', files: './files' }],
    },
  ]);
  return { nodes: { site, ...Object.fromEntries(described) } };
}
