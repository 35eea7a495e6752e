import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  adminHeader,
  type BackendNodeStatus,
  type BackendReport,
  type GatewayStatus,
  type FrontNodeStatus,
} from '@sheaf/gateway';
import type { LinkOptions } from '@sheaf/native';
import { expect, vi } from 'vitest';
import { askAdmin } from '../../src/admin.js';
import { ClientLink } from './client_link.js';
import { freePort, launch, type RunningProcess } from './process.js';
import { sheaf } from './world.js';

const backendNames = ['backend1', 'backend2', 'backend3'] as const;
type BackendName = (typeof backendNames)[number];
type Name = BackendName | 'site';

/** How responses reach clients: from the backends' addresses (Multi-End), or from the gateway's */
type SiteDelivery = 'path' | 'return';

/** What the gateway's log says about a response */
export interface Responded {
  path: string;
  connection?: string;
  delivery?: string;
  fallback?: string;
}

interface Ports {
  listen: number;
  backbone: number;
  admin: number;
}

/** Between clients and each backend: a download of a few MB takes seconds. */
const clientLink: LinkOptions = { rate: 12e6, delayMs: 10, queueBytes: 64 * 1024 };
/** Link of clients that get responses from the gateway's address: as wide as the links to the backends together. */
const gatewayLink: LinkOptions = { ...clientLink, rate: 36e6 };

/**
 * A gateway and three backends, each a process of its own; between clients and each backend, and between the gateway and each
 * backend, lies a link that can be cut.
 */
export class MultiEndSite {
  /** What every backend has as `/any/file.bin`, large enough for the links that it has to fill. */
  readonly file: Buffer;
  /** What each backend has as `/own/file.bin` */
  readonly own: readonly Buffer[];
  /** What every backend has as `/any/large.bin`: more than waits in a gateway for a client. */
  readonly large = randomBytes(5_000_000);
  /** As `/any/small.bin`. */
  readonly small = randomBytes(1_000);
  #stopped = false;
  readonly #running = new Map<Name, RunningProcess>();
  /** To the backends. */
  readonly #clientLinks: ClientLink[] = [];
  readonly #gatewayLinks: ClientLink[] = [];
  readonly #backboneLinks: ClientLink[] = [];
  /** What gateways have written so far that have ended */
  #said = '';

  private constructor(
    readonly directory: string,
    readonly ports: Readonly<Record<Name, Ports>>,
    readonly delivery: SiteDelivery,
  ) {
    this.file = randomBytes(delivery === 'return' ? 500_000 : 1_500_000);
    this.own = backendNames.map(() => randomBytes(this.file.length));
  }

  /** The nodes named run; the others can be started later. All of it lasts until `stop`. */
  static async start(names: readonly Name[], delivery: SiteDelivery = 'path'): Promise<MultiEndSite> {
    const ports = async (): Promise<Ports> => ({
      listen: await freePort(),
      backbone: await freePort(),
      admin: await freePort(),
    });
    const all = {
      site: await ports(),
      backend1: await ports(),
      backend2: await ports(),
      backend3: await ports(),
    };
    const site = new MultiEndSite(await mkdtemp(join(tmpdir(), 'sheaf-site-')), all, delivery);
    try {
      await site.#begin(names);
      return site;
    } catch (error) {
      await site.stop();
      throw error;
    }
  }

  async #begin([first, ...others]: readonly Name[]): Promise<void> {
    // A file that has not changed for a while has a strong tag, which resumption needs.
    const settled = Date.now() - 60_000;
    await this.#writeFile('any/file.bin', this.file, settled);
    await this.#writeFile('any/large.bin', this.large, settled);
    await this.#writeFile('any/small.bin', this.small, settled);
    // One that changes later has a weak one for so long.
    await this.#writeFile('any/fresh.bin', this.file, Date.now() + 3_600_000);
    // The time of the change is part of the tag.
    for (const [index, name] of backendNames.entries())
      await this.#writeFile(`${name}/file.bin`, this.own[index]!, settled - index * 1_000);
    await (this.delivery === 'return' ? this.#configureReturn() : this.#configure());
    // The first one makes the certificate that all use.
    if (first) await this.run(first);
    await Promise.all(others.map((name) => this.run(name)));
  }

  /** Ends every process and every link, in whatever state they are. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#running.keys()].map((name) => this.kill(name)));
    for (const link of [...this.#clientLinks, ...this.#gatewayLinks, ...this.#backboneLinks]) link.close();
    await rm(this.directory, { recursive: true, force: true });
  }

  async run(name: Name): Promise<void> {
    if (this.#stopped) throw new Error('the site has stopped');
    const process = launch(['up', name === 'site' ? 'site.yaml' : 'backends.yaml', '--node', name], this.directory);
    this.#running.set(name, process);
    await vi.waitFor(() => expect(process.out() + process.err()).toMatch(/ready|error\[/), 60_000);
    expect(process.err()).not.toContain('error[');
  }

  /** Resolves when the process has gone. */
  async kill(name: Name, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const process = this.#running.get(name);
    if (!process) return;
    process.child.kill(signal);
    await process.exit;
    this.#running.delete(name);
    if (name === 'site') this.#said += process.err();
  }

  /** A stopped process does nothing until it is told to go on. */
  signal(name: Name, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#running.get(name)?.child.kill(signal);
  }

  /** Bytes of memory that the process of a node has */
  memory(name: Name): number {
    const { pid } = this.#running.get(name)!.child;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) * 1_024;
  }

  /** The gateway's lines about responses so far */
  responses(): Responded[] {
    return (this.#said + (this.#running.get('site')?.err() ?? ''))
      .split('\n')
      .filter((line) => line.includes('"msg":"request"') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Responded);
  }

  /** Resolves when the gateway has said this many times that a backend can send from its address. */
  async returning(count: number): Promise<void> {
    const said = (): number =>
      (this.#running.get('site')?.err() ?? '').split('can send responses from the address').length - 1;
    await vi.waitFor(() => expect(said()).toBeGreaterThanOrEqual(count), { timeout: 90_000, interval: 50 });
  }

  /** The port of a link to the gateway. */
  linkToGateway(): number {
    const link = new ClientLink(this.ports.site.listen, gatewayLink);
    this.#gatewayLinks.push(link);
    return link.port;
  }

  /** All links of clients have other ports towards gateway and backends from now on. */
  async rebindLinks(): Promise<void> {
    await Promise.all([...this.#clientLinks, ...this.#gatewayLinks].map((link) => link.rebind()));
  }

  /** Where gateway and backends, in this order, see the latest client that is connected. */
  async clientAddresses(): Promise<(string | undefined)[]> {
    const statuses = await Promise.all(
      (['site', ...backendNames] as const).map((name) => this.#status<FrontNodeStatus>(name)),
    );
    return statuses.map(({ connections }) => {
      const path = connections
        .filter(({ state }) => state === 'established')
        .sort((left, right) => left.ageMs - right.ageMs)[0]
        ?.paths.find(({ state }) => state !== 'abandoned');
      return path && `${path.remote.address}:${path.remote.port}`;
    });
  }

  /** Cuts what lies between clients and the backend, or mends it. */
  cutPath(backend: number, cut: boolean): void {
    this.#clientLinks[backend]!.cut(cut);
  }

  cutBackbone(backend: number, cut: boolean): void {
    this.#backboneLinks[backend]!.cut(cut);
  }

  async drain(name: BackendName, action: 'drain' | 'resume'): Promise<void> {
    const { status, text } = await askAdmin(`127.0.0.1:${this.ports.site.admin}`, `/backends/${name}/${action}`, {
      method: 'POST',
      headers: { [adminHeader]: '1' },
    });
    expect([status, text]).toEqual([200, expect.any(String)]);
  }

  /** Number of responses that a backend may send from the gateway's address now */
  async grants(name: BackendName): Promise<number | undefined> {
    return (await this.#status<BackendNodeStatus>(name)).return?.grants;
  }

  async backends(): Promise<BackendReport[]> {
    return (await this.#status<GatewayStatus>('site')).backends ?? [];
  }

  /** The gateway sees this many backends serve. */
  async serving(count: number): Promise<void> {
    await vi.waitFor(
      async () => expect((await this.backends()).filter(({ state }) => state === 'serving')).toHaveLength(count),
      { timeout: 90_000, interval: 200 },
    );
  }

  async #status<Status>(name: Name): Promise<Status> {
    return JSON.parse((await askAdmin(`127.0.0.1:${this.ports[name].admin}`, '/status')).text) as Status;
  }

  async #writeFile(name: string, content: Buffer, changedAt: number): Promise<void> {
    const path = join(this.directory, 'files', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    await utimes(path, new Date(changedAt), new Date(changedAt));
  }

  /** Two files, as of nodes that do not share theirs: addresses of others are those of the links. */
  async #configure(): Promise<void> {
    const key = async (name: Name): Promise<string> =>
      (JSON.parse((await sheaf(['keys', 'new', name, '--json'], this.directory)).out) as { public_key: string })
        .public_key;
    const keys = {
      site: await key('site'),
      backend1: await key('backend1'),
      backend2: await key('backend2'),
      backend3: await key('backend3'),
    };
    const references = backendNames.map((name) => {
      const [link, backbone] = [
        new ClientLink(this.ports[name].listen, clientLink),
        new ClientLink(this.ports[name].backbone, {}),
      ];
      this.#clientLinks.push(link);
      this.#backboneLinks.push(backbone);
      return `{ name: ${name}, address: "${link.address}", backbone: "${backbone.address}", public_key: "${keys[name]}" }`;
    });
    await writeFile(
      join(this.directory, 'site.yaml'),
      `nodes:\n${this.#node('site', ['role: gateway', `backends: [${references.join(', ')}]`, 'routes: [{ path: /any, backends: [backend1, backend2, backend3] }, { files: files }]'])}\n`,
    );
    const primary = `primary: { name: site, backbone: "127.0.0.1:${this.ports.site.backbone}", public_key: "${keys.site}" }`;
    await writeFile(
      join(this.directory, 'backends.yaml'),
      `nodes:\n${backendNames.map((name) => this.#node(name, ['role: backend', primary, 'routes: [{ files: files }]'])).join('\n')}\n`,
    );
  }

  /**
   * Two files about the same nodes: only to nodes of its own file a gateway lends its port. In that of the gateway, the links lie
   * before the backbones of the backends.
   */
  async #configureReturn(): Promise<void> {
    const names = backendNames.join(', ');
    const from = `127.0.0.1:${this.ports.site.listen}`;
    const site = this.#node('site', [
      'role: gateway',
      `backends: [${names}]`,
      `routes: [{ path: /any, backends: [${names}], delivery: [return, proxy] }, { path: /own, backends: [${names}], delivery: [return, proxy] }, { path: /alone, backends: [backend1], delivery: [return, proxy] }]`,
    ]);
    const backend = (name: BackendName, backbone: number): string =>
      this.#node(
        name,
        [
          'role: backend',
          'primary: site',
          `return: { from: "${from}", via: own-address }`,
          `routes: [{ path: /any, files: files/any }, { path: /own, files: files/${name} }, { path: /alone, files: files/any }]`,
        ],
        backbone,
      );
    for (const name of backendNames) this.#backboneLinks.push(new ClientLink(this.ports[name].backbone, {}));
    const write = (file: string, backends: readonly string[]): Promise<void> =>
      writeFile(join(this.directory, file), `nodes:\n${[site, ...backends].join('\n')}\n`);
    await write(
      'site.yaml',
      backendNames.map((name, index) => backend(name, this.#backboneLinks[index]!.port)),
    );
    await write(
      'backends.yaml',
      backendNames.map((name) => backend(name, this.ports[name].backbone)),
    );
  }

  #node(name: Name, lines: readonly string[], backbone = this.ports[name].backbone): string {
    const { listen, admin } = this.ports[name];
    return [
      `  ${name}:`,
      `listen: 127.0.0.1:${listen}`,
      `backbone: 127.0.0.1:${backbone}`,
      `admin: 127.0.0.1:${admin}`,
      // RFC 9218 §10: incremental streams take turns. By default short ones go first, and the wait of others is no stall.
      'stream_scheduler: rfc9218',
      ...lines,
    ].join('\n    ');
  }
}
