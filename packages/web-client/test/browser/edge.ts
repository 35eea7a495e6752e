import { freePort } from './free_port.js';
import { publicKeyHash } from './gateway.js';
import { LinkedNodes } from './linked_nodes.js';

/** A gateway and an edge whose two paths lead over two links. */
export class EdgeProcesses {
  private constructor(
    readonly linked: LinkedNodes,
    readonly port: number,
    private readonly httpPort: number,
  ) {}

  /** Starts both for a site; `routes` are further routes of the gateway, in YAML. */
  static async start(site: string, routes = ['{ path: /echo, webtransport: echo }']): Promise<EdgeProcesses> {
    const [port, httpPort] = [await freePort(), await freePort()];
    const linked = await LinkedNodes.start({
      routes: [...routes, `{ files: ${JSON.stringify(site)} }`],
      node: ['role: edge', `listen: 127.0.0.1:${port}`, `http: 127.0.0.1:${httpPort}`, 'show_paths: true'],
    });
    return new EdgeProcesses(linked, port, httpPort);
  }

  /** A secure context without TLS. */
  get httpUrl(): string {
    return `http://localhost:${this.httpPort}`;
  }

  get httpsUrl(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get links(): LinkedNodes['links'] {
    return this.linked.links;
  }

  publicKeyHash(): Promise<string> {
    return publicKeyHash(this.linked.directory);
  }

  status(): ReturnType<LinkedNodes['status']> {
    return this.linked.status();
  }

  /** Bytes that each path has brought so far. */
  received(): Promise<number[]> {
    return this.linked.received();
  }

  remove(): Promise<void> {
    return this.linked.remove();
  }
}
