import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startCaddyWith, type GatewayUnderTest } from '../../http/gateways.js';
import { firstOutput, freePort, stop } from '../../process/service.js';

/** What a gateway does with requests for its ends. */
export type SheafDelivery = 'direct' | 'proxy';

/** A primary and its ends, each a process of its own, and Caddy before the same ends. */
export interface EndSite {
  /** Port of the primary, on 127.0.0.1. */
  port: number;
  primary: number;
  ends: number[];
  /** Undefined when it is not installed. */
  caddy: GatewayUnderTest | undefined;
  stop(): Promise<void>;
}

interface EndPorts {
  name: string;
  listen: number;
  backbone: number;
  /** HTTP/1.1 without TLS: what Caddy asks. */
  http: number;
}

export const paths = {
  download: (delivery: SheafDelivery): string => `/${delivery}/file`,
  upload: (delivery: SheafDelivery): string => `/${delivery}/upload`,
};

/** The ends have a file of `bytes` for both deliveries, and pass uploads on to a server that counts them. @throws UserError */
export async function startEndSite(directory: string, count: number, bytes: number): Promise<EndSite> {
  const children: ChildProcess[] = [];
  const start = async (script: string, name: string, ...args: string[]): Promise<{ pid: number; said: string }> => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return { said: await firstOutput(child, name), pid: child.pid ?? 0 };
  };
  const stopAll = async (): Promise<void> => void (await Promise.all(children.map(stop)));
  try {
    await writeFiles(join(directory, 'files'), bytes);
    const sink = await start(join(import.meta.dirname, 'upload_sink.js'), 'the server behind the ends');
    const ends = await Promise.all(Array.from({ length: count }, (_, index) => portsOf(`end${index + 1}`)));
    const port = await freePort();
    const configuration = join(directory, 'sheaf.yaml');
    await writeFile(configuration, describe({ port, backbone: await freePort(), ends, sink: `http://127.0.0.1:${sink.said.trim()}` }));
    const node = async (name: string): Promise<number> => (await start(join(import.meta.dirname, '../../http/sheaf_process.js'), name, configuration, name)).pid;
    const endPids: number[] = [];
    for (const { name } of ends) endPids.push(await node(name));
    const primary = await node('site');
    const caddy = await startCaddyWith(directory, [`reverse_proxy ${ends.map(({ http }) => `127.0.0.1:${http}`).join(' ')}`]);
    return { port, primary, ends: endPids, caddy, stop: async () => void (await Promise.all([stopAll(), caddy?.stop()])) };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

async function portsOf(name: string): Promise<EndPorts> {
  return { name, listen: await freePort(), backbone: await freePort(), http: await freePort() };
}

async function writeFiles(files: string, bytes: number): Promise<void> {
  for (const delivery of ['direct', 'proxy'] as const) {
    await mkdir(join(files, delivery), { recursive: true });
    await writeFile(join(files, paths.download(delivery)), Buffer.alloc(bytes, 'sheaf '));
  }
}

function describe({ port, backbone, ends, sink }: { port: number; backbone: number; ends: readonly EndPorts[]; sink: string }): string {
  const names = ends.map(({ name }) => name);
  const log = { level: 'warn' };
  const uploads = (['direct', 'proxy'] as const).map((delivery) => ({ path: paths.upload(delivery), upstream: sink }));
  const site = {
    role: 'gateway',
    listen: `127.0.0.1:${port}`,
    backbone: `127.0.0.1:${backbone}`,
    log,
    ends: names,
    routes: (['direct', 'proxy'] as const).map((delivery) => ({ path: `/${delivery}`, ends: names, delivery })),
  };
  const described = ends.map(({ name, listen, backbone: own, http }) => [
    name,
    {
      role: 'end',
      listen: `127.0.0.1:${listen}`,
      backbone: `127.0.0.1:${own}`,
      http: `127.0.0.1:${http}`,
      log,
      primary: 'site',
      routes: [...uploads, { path: '/', files: './files' }],
    },
  ]);
  // JSON is YAML.
  return JSON.stringify({ nodes: { site, ...Object.fromEntries(described) } });
}
