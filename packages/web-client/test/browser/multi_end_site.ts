import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free_port.js';
import { publicKeyHash, type LoggedRequest } from './gateway.js';
import { SheafProcess } from './sheaf_process.js';

/** A line of a node's access log. */
export interface Answer extends LoggedRequest {
  readonly status: number;
  readonly bytes: number;
}

/** What the tests read of the nodes' statuses. */
interface EdgeStatus {
  gateway: { opened: number; connections: { backends: { backend: number; state: string; bytesReceived: number }[] }[] };
}

interface GatewayStatus {
  backends: { name: string; state: string; proxied: number }[];
  transport: { bytesSent: number };
}

interface BackendNodeStatus {
  guests: number;
  transport: { bytesSent: number; connectionsAccepted: number };
}

interface NodeProcess {
  readonly process: SheafProcess;
  readonly listen: number;
  readonly backbone: number;
  readonly admin: number;
}

const backendNames = ['backend1', 'backend2', 'backend3'] as const;
const names = [...backendNames, 'center', 'laptop'] as const;
type Name = (typeof names)[number];

/** Round trips of clients to backends are twice the delay; an image of 1 MB takes a backend seconds. */
const link = ['--rate', '6mbit', '--delay', '20ms', '--queue', '64KiB'];

/**
 * A gateway, three backends, each behind a link, and an edge: each of them a process of its own. The backends answer what is
 * below `/images/`, the gateway the rest.
 */
export class MultiEndSite {
  private readonly nodes = {} as Record<Name, NodeProcess>;
  private readonly links: SheafProcess[] = [];
  private httpPort = 0;

  private constructor(
    private readonly directory: string,
    private readonly site: string,
  ) {}

  /** `site`: directory that the gateway serves; `images`: files of every backend. */
  static async start(site: string, images: Readonly<Record<string, Buffer>>): Promise<MultiEndSite> {
    const started = new MultiEndSite(await mkdtemp(join(tmpdir(), 'sheaf-multi-end-test-')), site);
    await started.writeFiles(images);
    await started.run();
    return started;
  }

  get httpsUrl(): string {
    return `https://127.0.0.1:${this.nodes.laptop.listen}`;
  }

  /** A secure context without TLS. */
  get httpUrl(): string {
    return `http://localhost:${this.httpPort}`;
  }

  get edgePort(): number {
    return this.nodes.laptop.listen;
  }

  get backends(): readonly string[] {
    return backendNames;
  }

  publicKeyHash(): Promise<string> {
    return publicKeyHash(this.directory);
  }

  edge(): Promise<EdgeStatus> {
    return this.status('laptop');
  }

  gateway(): Promise<GatewayStatus> {
    return this.status('center');
  }

  backend(name: string): Promise<BackendNodeStatus> {
    return this.status(name as Name);
  }

  process(name: string): SheafProcess {
    return this.nodes[name as Name].process;
  }

  /** The pictures that the node answered with so far. */
  async images(name: string): Promise<Answer[]> {
    const lines = (await readFile(join(this.directory, `${name}.log`), 'utf8')).split('\n');
    return lines
      .filter((line) => line.includes('"msg":"request"'))
      .map((line) => JSON.parse(line) as Answer)
      .filter(({ path }) => path.endsWith('.bmp'));
  }

  async remove(): Promise<void> {
    await Promise.all([
      ...Object.values(this.nodes).map(({ process }) => process.stop('SIGKILL')),
      ...this.links.map((each) => each.stop('SIGKILL')),
    ]);
    await rm(this.directory, { recursive: true, force: true });
  }

  private async status<Status>(name: Name): Promise<Status> {
    return (await (await fetch(`http://127.0.0.1:${this.nodes[name].admin}/status`)).json()) as Status;
  }

  private async writeFiles(images: Readonly<Record<string, Buffer>>): Promise<void> {
    const folder = join(this.directory, 'backends', 'images');
    await mkdir(folder, { recursive: true });
    // A file that has not changed for a while has a strong tag, which resumption needs.
    const settled = new Date(Date.now() - 60_000);
    for (const [name, content] of Object.entries(images)) {
      await writeFile(join(folder, name), content);
      await utimes(join(folder, name), settled, settled);
    }
  }

  private async run(): Promise<void> {
    for (const name of names) {
      const process = new SheafProcess(['up', 'sheaf.yaml', '--node', name], this.directory);
      this.nodes[name] = { process, listen: await freePort(), backbone: await freePort(), admin: await freePort() };
    }
    this.httpPort = await freePort();
    const addresses = await Promise.all(backendNames.map((name) => this.linkTo(this.nodes[name].listen)));
    await writeFile(join(this.directory, 'sheaf.yaml'), this.configuration(addresses));
    // The first one makes the certificate that all use.
    const [first, ...others] = names;
    await this.nodes[first].process.run();
    await Promise.all(others.map((name) => this.nodes[name].process.run()));
  }

  /** The link's address. */
  private async linkTo(port: number): Promise<string> {
    const process = new SheafProcess(['link', '--target', `127.0.0.1:${port}`, ...link], this.directory);
    this.links.push(process);
    return /127\.0\.0\.1:\d+/.exec(await process.run())?.[0] ?? '';
  }

  private configuration(addresses: readonly string[]): string {
    const backends = backendNames.map((name, index) => `{ name: ${name}, address: "${addresses[index]}" }`).join(', ');
    const ports = (name: Name): string => `listen: 127.0.0.1:${this.nodes[name].listen}
    admin: 127.0.0.1:${this.nodes[name].admin}
    log: { file: ${name}.log }`;
    const backbone = (name: Name): string => `backbone: 127.0.0.1:${this.nodes[name].backbone}`;
    const backendNode = (name: Name): string => `  ${name}:
    role: backend
    ${ports(name)}
    ${backbone(name)}
    primary: center
    routes: [{ files: ./backends }]
`;
    return `nodes:
  center:
    role: gateway
    ${ports('center')}
    ${backbone('center')}
    backends: [${backends}]
    routes: [{ path: /echo, webtransport: echo }, { path: /images, backends: [${backendNames.join(', ')}] }, { path: /, files: ${JSON.stringify(this.site)} }]
${backendNames.map(backendNode).join('')}  laptop:
    role: edge
    ${ports('laptop')}
    http: 127.0.0.1:${this.httpPort}
    gateway: center
    show_paths: true
    paths: [{ local: 127.0.0.1 }]
`;
  }
}
