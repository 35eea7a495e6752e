import type { NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import { createTunnelNodeMetrics } from '../../observability/process_metrics.js';
import type { TunnelNodeStatus } from '../../observability/status.js';
import { loadNativeModule } from '../../listeners/native_module.js';
import type { LoadedTunnelNode } from '../../schema/loaded.js';
import { outerDatagram } from '../../tunnel_client/proxy_template.js';
import { httpProxy } from '../../tunnel_client/http_proxy.js';
import type { LocalListener } from '../../tunnel_client/local_listener.js';
import { readCredentials } from '../../tunnel_client/read_credentials.js';
import { socksServer } from '../../tunnel_client/socks/socks_server.js';
import { tcpForward } from '../../tunnel_client/tcp_forward.js';
import { TcpTunnels } from '../../tunnel_client/tcp_tunnels.js';
import { UdpForwards } from '../../tunnel_client/udp_forwards.js';
import { UdpRelays } from '../../tunnel_client/udp_relays.js';
import { UdpTunnels } from '../../tunnel_client/udp_tunnels.js';
import { listenError } from '../../values/listen_error.js';
import type { ValuePath } from '../../values/document.js';
import type { ListenAddress } from '../../values/scalars.js';
import { NodeLife } from '../life/node_life.js';
import type { Entrance, NodeOptions, RunningNode } from '../life/running_node.js';
import { Uplink } from '../uplink/uplink.js';

export interface TunnelNodeOptions extends NodeOptions {
  /** Address of the gateway in the same file, if this process runs it as well */
  gatewayAddress?: ListenAddress | undefined;
}

/** Time in milliseconds without a packet after which the connection to the gateway ends */
const idleTimeoutMs = 30_000;
/**
 * Sizes in bytes. Programs that do not read fill the windows of their streams. So many of them leave credit of the connection to
 * the others.
 */
const maxStreamWindow = 4 * 1024 ** 2;
const connectionWindow = 64 * maxStreamWindow;

/** One running node that leads programs of this machine through the tunnels of a gateway */
export class TunnelNode implements RunningNode {
  readonly role = 'tunnel';
  readonly warnings: readonly string[] = [];
  readonly #loaded: LoadedTunnelNode;
  readonly #life: NodeLife;
  readonly #uplink: Uplink;
  readonly #tcp: TcpTunnels;
  readonly #udp: UdpTunnels;
  readonly #forwards: UdpForwards;
  readonly #listeners: LocalListener[] = [];

  private constructor(
    loaded: LoadedTunnelNode,
    { life, uplink, headers }: { life: NodeLife; uplink: Uplink; headers: Record<string, string> },
  ) {
    this.#loaded = loaded;
    this.#life = life;
    this.#uplink = uplink;
    const common = { gateway: uplink.connection, headers, log: life.log };
    this.#tcp = new TcpTunnels(common);
    this.#udp = new UdpTunnels(common);
    this.#forwards = new UdpForwards(this.#udp, life.log);
    uplink.onOpen = (client) => this.#udp.watch(client);
  }

  /** Starts to listen. The connection to the gateway opens meanwhile. @throws UserError */
  static async start(loaded: LoadedTunnelNode, options: TunnelNodeOptions = {}): Promise<TunnelNode> {
    const life = new NodeLife({ ...loaded, options: loaded.node }, options);
    try {
      const headers = await readCredentials(loaded.node.user, process.env);
      const uplink = openUplink(loaded, await loadNativeModule(), life, options);
      const node = new TunnelNode(loaded, { life, uplink, headers });
      await node.#start();
      return node;
    } catch (error) {
      await life.shutdown.run();
      throw error;
    }
  }

  get name(): string {
    return this.#loaded.name;
  }

  get log(): Logger {
    return this.#life.log;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.#life.adminAddress;
  }

  get entrances(): readonly Entrance[] {
    return this.#listenerStatus().map(({ kind, listen, to }) => {
      if (kind === 'socks5') return { at: `socks5h://${listen}`, serves: 'SOCKS5' };
      if (kind === 'http') return { at: `http://${listen}`, serves: 'HTTP proxy that takes CONNECT' };
      return { at: listen, serves: `${kind.toUpperCase()} to ${to ?? ''}` };
    });
  }

  get trial(): string {
    const proxy = this.entrances.find(({ at }) => at.includes('://'))?.at;
    return proxy === undefined ? 'sheaf status' : `curl --proxy ${proxy} https://www.example.org/`;
  }

  status(): TunnelNodeStatus {
    return {
      ...this.#life.status(),
      role: 'tunnel',
      gateway: this.#uplink.connection.status(),
      listeners: this.#listenerStatus(),
      tunnels: this.#udp.totals,
      tcpTunnels: this.#tcp.totals,
    };
  }

  /** Accepts no more connections, waits up to `drainMs` for those that are open, then stops. */
  close(drainMs = 0): Promise<void> {
    return this.#life.close(() => Promise.all(this.#listeners.map((listener) => listener.close(drainMs))));
  }

  async #start(): Promise<void> {
    const { node } = this.#loaded;
    this.#life.shutdown.add(() => this.#uplink.connection.close());
    this.#life.shutdown.add(() => this.#forwards.close());
    if (node.socks5) await this.#listen(socksServer(this.#tcp, new UdpRelays(this.#udp)), node.socks5, ['socks5']);
    if (node.http_proxy) await this.#listen(httpProxy(this.#tcp), node.http_proxy, ['http_proxy']);
    for (const [index, { listen, to: target, protocol }] of node.forward.entries()) {
      const path = ['forward', index, 'listen'];
      if (protocol === 'tcp') await this.#listen(tcpForward(this.#tcp, target), listen, path);
      else await this.#forwards.add(listen, target).catch((error: unknown) => this.#refuse(error, listen, 'UDP', path));
    }
    await this.#life.listenAdmin({
      registry: createTunnelNodeMetrics(() => this.status()),
      status: () => this.status(),
      refresh: () => Promise.resolve(),
    });
    void this.#forwards.run();
    // Programs need not wait for a handshake then. `status` says why it fails.
    this.#uplink.connection.open().catch(() => undefined);
    this.#life.serve(this.entrances.map(({ at }) => at).join(', '));
  }

  async #listen(listener: LocalListener, address: ListenAddress, path: ValuePath): Promise<void> {
    await listener.listen(address).catch((error: unknown) => this.#refuse(error, address, 'TCP', path));
    this.#listeners.push(listener);
    this.#life.shutdown.add(() => listener.close(0));
  }

  #refuse(error: unknown, address: ListenAddress, protocol: 'TCP' | 'UDP', path: ValuePath): never {
    throw listenError(error, address, protocol, this.#loaded.place(path));
  }

  #listenerStatus(): TunnelNodeStatus['listeners'] {
    return [...this.#listeners.map(({ status }) => status), ...this.#forwards.listeners];
  }
}

function openUplink(
  loaded: LoadedTunnelNode,
  module: NativeModule,
  { log }: NodeLife,
  { gatewayAddress, keyLog }: TunnelNodeOptions,
): Uplink {
  return new Uplink({
    loaded,
    module,
    gatewayAddress,
    keyLog,
    log,
    replacesSilent: true,
    transport: {
      datagrams: true,
      firstDatagram: outerDatagram,
      // No connection of a program is more urgent than another one.
      streamScheduler: 'rr',
      maxStreamWindow,
      // From the start, since unread data would keep it from growing
      initialConnectionWindow: connectionWindow,
      maxConnectionWindow: connectionWindow,
      idleTimeoutMs,
    },
  });
}
