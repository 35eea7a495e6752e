import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { freePort } from './free_port.js';
import { SheafProcess } from './sheaf_process.js';

/** What the tests read of the status of a node. */
interface UplinkStatus {
  gateway: { opened: number; connections: { paths: { id: number; state: string; bytesReceived: number }[] }[] };
}

export interface LinkedNodesOptions {
  /** Routes of the gateway, in YAML */
  routes: readonly string[];
  /** Further keys of the gateway, each a line of YAML */
  gateway?: readonly string[];
  /** Keys of the node without its gateway, paths and `admin`, each a line of YAML */
  node: readonly string[];
}

/** A gateway, and a node whose two paths to it lead over two links: each of them as its `sheaf` command runs it. */
export class LinkedNodes {
  private constructor(
    readonly directory: string,
    private readonly nodes: SheafProcess,
    readonly links: readonly SheafProcess[],
    readonly gatewayPort: number,
    private readonly adminPort: number,
  ) {}

  static async start({ routes, gateway = [], node }: LinkedNodesOptions): Promise<LinkedNodes> {
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-linked-test-'));
    const [gatewayPort, adminPort] = [await freePort(), await freePort()];
    const shape = ['--rate', '4mbit', '--delay', '10ms', '--queue', '128KiB'];
    const link = ['link', '--target', `127.0.0.1:${gatewayPort}`, ...shape];
    const links = [new SheafProcess(link, directory), new SheafProcess(link, directory)];
    const remotes = await Promise.all(links.map(async (each) => /127\.0\.0\.1:\d+/.exec(await each.run())?.[0] ?? ''));
    const paths = remotes.map((remote) => `{ local: 127.0.0.1, remote: "${remote}" }`);
    const lines = [
      'nodes:',
      '  center:',
      '    role: gateway',
      `    listen: 127.0.0.1:${gatewayPort}`,
      `    routes: [${routes.join(', ')}]`,
      ...gateway.map((line) => `    ${line}`),
      '  laptop:',
      `    admin: 127.0.0.1:${adminPort}`,
      '    gateway: center',
      `    paths: [${paths.join(', ')}]`,
      ...node.map((line) => `    ${line}`),
    ];
    await writeFile(join(directory, 'sheaf.yaml'), `${lines.join('\n')}\n`);
    const nodes = new SheafProcess(['up', 'sheaf.yaml'], directory);
    await nodes.run();
    return new LinkedNodes(directory, nodes, links, gatewayPort, adminPort);
  }

  get adminUrl(): string {
    return `http://127.0.0.1:${this.adminPort}`;
  }

  async status(): Promise<UplinkStatus> {
    return (await (await fetch(`${this.adminUrl}/status`)).json()) as UplinkStatus;
  }

  /** Bytes that each path has brought so far. */
  async received(): Promise<number[]> {
    return ((await this.status()).gateway.connections[0]?.paths ?? []).map(({ bytesReceived }) => bytesReceived);
  }

  /** Waits until each path has brought so many bytes more than `before`: both carry what comes. */
  async expectBothToCarry(bytes: number, before: readonly number[]): Promise<void> {
    const least = async (): Promise<number> =>
      Math.min(...(await this.received()).map((now, path) => now - (before[path] ?? 0)));
    await expect.poll(least, { intervals: [20] }).toBeGreaterThan(bytes);
  }

  async remove(): Promise<void> {
    await this.nodes.stop('SIGKILL');
    await Promise.all(this.links.map((link) => link.stop('SIGKILL')));
    await rm(this.directory, { recursive: true, force: true });
  }
}
