import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free_port.js';
import { publicKeyHash } from './gateway.js';
import { SheafProcess } from './sheaf_process.js';

/** What the tests read of an edge's status. */
interface EdgeStatus {
  gateway: { opened: number; connection?: { paths: { id: number; state: string; bytesReceived: number }[] } };
}

/** A gateway and an edge, whose two paths lead over two links: each of them as its `sheaf` command runs it. */
export class EdgeProcesses {
  private constructor(
    private readonly directory: string,
    private readonly nodes: SheafProcess,
    readonly links: readonly SheafProcess[],
    readonly port: number,
    private readonly httpPort: number,
    private readonly adminPort: number,
  ) {}

  /** Starts both for a site; `routes` are further routes of the gateway, in YAML. */
  static async start(site: string, routes = ['{ path: /echo, webtransport: echo }']): Promise<EdgeProcesses> {
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-edge-test-'));
    const gatewayPort = await freePort();
    const [port, httpPort, adminPort] = [await freePort(), await freePort(), await freePort()];
    const link = [
      'link',
      '--target',
      `127.0.0.1:${gatewayPort}`,
      '--rate',
      '4mbit',
      '--delay',
      '10ms',
      '--queue',
      '128KiB',
    ];
    const links = [new SheafProcess(link, directory), new SheafProcess(link, directory)];
    const remotes = await Promise.all(links.map(async (each) => /127\.0\.0\.1:\d+/.exec(await each.run())?.[0] ?? ''));
    await writeFile(
      join(directory, 'sheaf.yaml'),
      `nodes:
  center:
    role: gateway
    listen: 127.0.0.1:${gatewayPort}
    routes: [${routes.join(', ')}, { files: ${JSON.stringify(site)} }]
  laptop:
    role: edge
    listen: 127.0.0.1:${port}
    http: 127.0.0.1:${httpPort}
    admin: 127.0.0.1:${adminPort}
    gateway: center
    show_paths: true
    paths: [${remotes.map((remote) => `{ local: 127.0.0.1, remote: "${remote}" }`).join(', ')}]
`,
    );
    const nodes = new SheafProcess(['up', 'sheaf.yaml'], directory);
    await nodes.run();
    return new EdgeProcesses(directory, nodes, links, port, httpPort, adminPort);
  }

  /** A secure context without TLS. */
  get httpUrl(): string {
    return `http://localhost:${this.httpPort}`;
  }

  get httpsUrl(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  publicKeyHash(): Promise<string> {
    return publicKeyHash(this.directory);
  }

  async status(): Promise<EdgeStatus> {
    return (await (await fetch(`http://127.0.0.1:${this.adminPort}/status`)).json()) as EdgeStatus;
  }

  /** Bytes that each path has brought so far. */
  async received(): Promise<number[]> {
    return ((await this.status()).gateway.connection?.paths ?? []).map(({ bytesReceived }) => bytesReceived);
  }

  async remove(): Promise<void> {
    await this.nodes.stop('SIGKILL');
    await Promise.all(this.links.map((link) => link.stop('SIGKILL')));
    await rm(this.directory, { recursive: true, force: true });
  }
}
