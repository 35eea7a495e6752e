import type { NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import { createTunnelNodeMetrics } from '../../observability/process_metrics.js';
import type { TunnelNodeStatus } from '../../observability/status.js';
import { loadNativeModule } from '../../listeners/native_module.js';
import type { LoadedTunnelNode } from '../../schema/loaded.js';
import { outerDatagram } from '../../tunnel_client/proxy_template.js';
import { httpProxy } from '../../tunnel_client/http_proxy.js';
import type { HeldPort } from '../../tunnel_client/held_port.js';
import type { LocalListener } from '../../tunnel_client/local_listener.js';
import { readCredentials } from '../../tunnel_client/read_credentials.js';
import { socksServer } from '../../tunnel_client/socks/socks_server.js';
import { tcpForward } from '../../tunnel_client/tcp_forward.js';
import { TcpTunnels } from '../../tunnel_client/tcp_tunnels.js';
import { UdpForwards } from '../../tunnel_client/udp_forwards.js';
import { UdpRelays } from '../../tunnel_client/udp_relays.js';
import { UdpTunnels } from '../../tunnel_client/udp_tunnels.js';
import type { Share } from '../../upgrade/descriptor_table.js';
import type { PortInheritance } from '../../upgrade/messages.js';
import { listenError } from '../../values/listen_error.js';
import type { ValuePath } from '../../values/document.js';
import type { ListenAddress } from '../../values/scalars.js';
import { AdminSockets } from '../life/admin_sockets.js';
import { NodeLife } from '../life/node_life.js';
import type { Entrance, NodeLegacy, NodeOptions, RunningNode } from '../life/running_node.js';
import { Uplink } from '../uplink/uplink.js';
import { HeldPorts } from './held_ports.js';

export interface TunnelNodeOptions extends NodeOptions {
  /** Address of the gateway in the same file, if this process runs it as well */
  gatewayAddress?: ListenAddress | undefined;
}

/** Time in milliseconds between looks for tunnels, in a process from which another one took over */
const retirementPollMs = 500;
/** Time in milliseconds without a packet after which the connection to the gateway ends */
const idleTimeoutMs = 30_000;
/**
 * Sizes in bytes. Programs that do not read fill the windows of their streams. So many of them leave credit of the connection to
 * the others.
 */
const maxStreamWindow = 4 * 1024 ** 2;
const connectionWindow = 64 * maxStreamWindow;

interface TunnelNodeParts {
  life: NodeLife;
  uplink: Uplink;
  ports: HeldPorts;
  /** Fields of each request to the gateway */
  headers: Record<string, string>;
}

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
  readonly #ports: HeldPorts;
  readonly #listeners: { listener: LocalListener; port: HeldPort }[] = [];

  private constructor(loaded: LoadedTunnelNode, { life, uplink, ports, headers }: TunnelNodeParts) {
    this.#loaded = loaded;
    this.#life = life;
    this.#uplink = uplink;
    this.#ports = ports;
    const common = { gateway: uplink.connection, headers, log: life.log };
    this.#tcp = new TcpTunnels(common);
    this.#udp = new UdpTunnels(common);
    this.#forwards = new UdpForwards(this.#udp, life.log);
    uplink.onOpen = (client) => this.#udp.watch(client);
  }

  /**
   * Starts to listen. The connection to the gateway opens meanwhile. A node that takes over has its ports, where programs wait until
   * `begin`. @throws UserError
   */
  static async start(loaded: LoadedTunnelNode, options: TunnelNodeOptions = {}): Promise<TunnelNode> {
    const { succession } = options;
    const taken = succession?.socketsOf(loaded.name);
    const admin = new AdminSockets(taken);
    const life = new NodeLife(
      { ...loaded, options: loaded.node },
      { ...options, openAdminSocket: (wanted) => admin.open(wanted) },
    );
    try {
      const headers = await readCredentials(loaded.node.user, process.env);
      const uplink = openUplink(loaded, await loadNativeModule(), life, options);
      const node = new TunnelNode(loaded, { life, uplink, ports: new HeldPorts(taken), headers });
      node.#openPorts();
      if (succession) admin.wait({ admin: loaded.node.admin, place: loaded.place });
      else await node.begin();
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
    return this.#life.close(() => {
      this.#forwards.leave();
      this.#ports.close();
      return this.#closeListeners(drainMs);
    });
  }

  /** Accepts programs, and connects to the gateway. */
  async begin(): Promise<void> {
    for (const { listener, port } of this.#listeners) await listener.listen(port);
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

  /** Offers the ports to a process that takes over. */
  bequeath(share: Share): NodeLegacy {
    const admin = this.#life.bequeathAdmin(share);
    return {
      inheritance: {
        name: this.name,
        fixed: {},
        sockets: {},
        ports: this.#ports.describe(share),
        ...(admin && { admin }),
        drained: [],
      },
      commit: () => {
        for (const { listener } of this.#listeners) listener.stopAccepting();
        this.#forwards.leave();
        this.#ports.close();
        void this.#life.leaveAdmin();
      },
      abandon: () => undefined,
    };
  }

  /** Closes the node once its tunnels have ended, or `limits.upgrade` is over. */
  async retire(): Promise<void> {
    const { upgrade } = this.#loaded.node.limits;
    const deadline = performance.now() + upgrade;
    const ended = this.#closeListeners(upgrade);
    while (this.#life.state === 'serving' && performance.now() < deadline && this.#udp.totals.open > 0)
      await new Promise((resolve) => setTimeout(resolve, retirementPollMs));
    await ended;
    await this.close();
  }

  #openPorts(): void {
    const { node } = this.#loaded;
    this.#life.shutdown.add(() => this.#uplink.connection.close());
    this.#life.shutdown.add(() => this.#ports.close());
    this.#life.shutdown.add(() => this.#forwards.close());
    this.#life.shutdown.add(() => this.#closeListeners(0));
    const { socks5, http_proxy: proxy } = node;
    if (socks5) this.#add(socksServer(this.#tcp, new UdpRelays(this.#udp)), this.#hold('socks5', socks5, ['socks5']));
    if (proxy) this.#add(httpProxy(this.#tcp), this.#hold('http_proxy', proxy, ['http_proxy']));
    for (const [index, { listen, to: target, protocol }] of node.forward.entries()) {
      const port = this.#hold(protocol, listen, ['forward', index, 'listen']);
      if (protocol === 'tcp') this.#add(tcpForward(this.#tcp, target), port);
      else this.#forwards.add(port, target);
    }
  }

  #hold(use: PortInheritance['use'], wanted: ListenAddress, path: ValuePath): HeldPort {
    try {
      return this.#ports.open(use, wanted);
    } catch (error) {
      throw listenError(error, wanted, use === 'udp' ? 'UDP' : 'TCP', this.#loaded.place(path));
    }
  }

  #add(listener: LocalListener, port: HeldPort): void {
    this.#listeners.push({ listener, port });
  }

  async #closeListeners(drainMs: number): Promise<void> {
    await Promise.all(this.#listeners.map(({ listener }) => listener.close(drainMs)));
  }

  #listenerStatus(): TunnelNodeStatus['listeners'] {
    return [...this.#listeners.map(({ listener }) => listener.status), ...this.#forwards.listeners];
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
