import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free_port.js';
import { SheafProcess } from './sheaf_process.js';

/** What pages talk to */
interface Origins {
  readonly httpUrl: string;
  readonly httpsUrl: string;
}

/** What the tests read of an edge's status */
interface ReceivedMedia {
  state: string;
  fromGroup: number;
  expired: number;
  viewers: number;
}

/** A gateway whose broadcasts a channel carries, and an edge that joins it, on one machine: both as `sheaf up` runs them. */
export class ChannelEdge {
  private constructor(
    private readonly directory: string,
    private readonly nodes: SheafProcess,
    readonly gateway: Origins,
    readonly edge: Origins,
    private readonly adminPort: number,
  ) {}

  static async start(site: string): Promise<ChannelEdge> {
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-channel-test-'));
    const [gatewayPort, gatewayHttp, groupPort] = [await freePort(), await freePort(), await freePort()];
    const [edgePort, edgeHttp, adminPort] = [await freePort(), await freePort(), await freePort()];
    await writeFile(
      join(directory, 'sheaf.yaml'),
      `nodes:
  center:
    role: gateway
    listen: 127.0.0.1:${gatewayPort}
    http: 127.0.0.1:${gatewayHttp}
    channels: { live: { group: "232.98.7.4:${groupPort}", source: 127.0.0.1 } }
    routes:
      - { path: /live, media: { channel: live } }
      - { path: /channel, channel: live }
      - { files: ${JSON.stringify(site)} }
  classroom:
    role: edge
    listen: 127.0.0.1:${edgePort}
    http: 127.0.0.1:${edgeHttp}
    admin: 127.0.0.1:${adminPort}
    gateway: center
    media: [{ path: /live, channel: /channel }]
`,
    );
    const nodes = new SheafProcess(['up', 'sheaf.yaml'], directory);
    await nodes.run();
    const origins = (port: number, http: number): Origins => ({
      httpUrl: `http://localhost:${http}`,
      httpsUrl: `https://127.0.0.1:${port}`,
    });
    const [gateway, edge] = [origins(gatewayPort, gatewayHttp), origins(edgePort, edgeHttp)];
    return new ChannelEdge(directory, nodes, gateway, edge, adminPort);
  }

  async received(): Promise<ReceivedMedia> {
    const { media } = (await (await fetch(`http://127.0.0.1:${this.adminPort}/status`)).json()) as {
      media: [ReceivedMedia];
    };
    return media[0];
  }

  async remove(): Promise<void> {
    await this.nodes.stop('SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }
}
