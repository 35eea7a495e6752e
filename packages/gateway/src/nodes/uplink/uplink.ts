import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { ClientOptions, Http3Client, NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import type { LoadedUplink } from '../../schema/loaded.js';
import type { ListenAddress } from '../../values/scalars.js';
import { congestionControl } from '../../values/transport_names.js';
import { connectFirst } from './connect_first.js';
import { GatewayConnection } from './gateway_connection.js';
import { gatewayTarget, type GatewayTarget } from './gateway_target.js';
import { PathPolicy } from './path_policy.js';
import { startingWith, wantedPaths, type WantedPath } from './wanted_paths.js';

/** Interval in milliseconds at which the machine's addresses are checked */
const reconcileMs = 1_000;

/**
 * Interval in milliseconds of packets that keep paths and the NATs on them open. It is shorter for connections with a short idle
 * timeout.
 */
const keepAliveMs = 10_000;

const connectTimeoutMs = 5_000;

/** What the connections of a role have of their own */
export type TransportOfRole = Pick<
  ClientOptions,
  | 'webtransport'
  | 'multiEnd'
  | 'datagrams'
  | 'firstDatagram'
  | 'streamScheduler'
  | 'maxStreamWindow'
  | 'initialConnectionWindow'
  | 'maxConnectionWindow'
> & { idleTimeoutMs: number };

export interface UplinkOptions {
  loaded: LoadedUplink;
  module: NativeModule;
  /** Address of the gateway in the same file, if this process runs it as well */
  gatewayAddress?: ListenAddress | undefined;
  /** File for TLS secrets (SSLKEYLOGFILE) */
  keyLog?: string | undefined;
  transport: TransportOfRole;
  /** As of `GatewayConnectionOptions` */
  replacesSilent?: boolean;
  log: Logger;
}

/** The way of a node to its gateway: one connection at a time, over the paths that the node should have */
export class Uplink {
  readonly connection: GatewayConnection;
  /** Informs the owner about a new connection. */
  onOpen: ((client: Http3Client) => void) | undefined;
  readonly #options: UplinkOptions;
  readonly #target: GatewayTarget;
  /** IP address of the gateway at the latest attempt to connect */
  #gatewayIp = '';
  /** Path of the latest handshake; after that connection, a path that still worked */
  #first: WantedPath | undefined;

  /** Connects when the connection is opened. @throws UserError when the port of the gateway is unknown */
  constructor(options: UplinkOptions) {
    this.#options = options;
    this.#target = gatewayTarget(options.loaded, options.gatewayAddress);
    const { host, port } = this.#target;
    this.connection = new GatewayConnection({
      host,
      port,
      log: options.log,
      replacesSilent: options.replacesSilent ?? false,
      connect: (attempt) => this.#connect(attempt),
      onOpen: (client) => {
        this.onOpen?.(client);
        return this.#keepPaths(client);
      },
    });
  }

  /**
   * Connects, beginning with the path that worked last. After failures it begins with another path, since a path may
   * let only handshakes through.
   */
  async #connect(attempt: number): Promise<Http3Client> {
    const { paths } = this.#options.loaded.node;
    if (paths === 'auto') this.#gatewayIp = await this.#resolve();
    const wanted = startingWith(this.#first, wantedPaths(paths, this.#gatewayIp));
    const turn = attempt % Math.max(wanted.length, 1);
    const inTurn = wanted.length === 0 ? [undefined] : [...wanted.slice(turn), ...wanted.slice(0, turn)];
    const { path, connection } = await connectFirst(inTurn, (each) => this.#connectOn(each));
    this.#first = path;
    return connection;
  }

  /** Connects over a path. Without a path, the system chooses one. */
  async #connectOn(path: WantedPath | undefined): Promise<Http3Client> {
    const { loaded, module, keyLog, transport } = this.#options;
    const { node } = loaded;
    const { host, serverName, port, trust } = this.#target;
    return module.connectHttp3({
      ...transport,
      alpn: ['h3'],
      connectTimeoutMs,
      host: serverName ?? host,
      port,
      remote: path?.remote ?? { address: await this.#resolve(path), port },
      ...(path ? { localAddress: path.local } : {}),
      ...(await trust()),
      keepAliveMs: Math.min(keepAliveMs, Math.ceil(transport.idleTimeoutMs / 3)),
      congestionControl: congestionControl(node.congestion),
      pathScheduler: node.path_scheduler,
      ...(node.qlog === undefined ? {} : { qlogDirectory: node.qlog }),
      ...(keyLog === undefined ? {} : { keyLogFile: keyLog }),
    });
  }

  /** Resolves the gateway's IP address, of the path's family if there is a path. */
  async #resolve(path?: WantedPath): Promise<string> {
    return (await lookup(this.#target.host, { family: path ? isIP(path.local) : 0 })).address;
  }

  #keepPaths(client: Http3Client): () => void {
    const { paths } = this.#options.loaded.node;
    const gateway = this.#gatewayIp;
    const policy = new PathPolicy({
      connection: client,
      first: this.#first,
      wanted: () => wantedPaths(paths, gateway),
      log: this.#options.log,
    });
    client.on('path', (event) => policy.onEvent(event));
    const timer = setInterval(() => policy.reconcile(performance.now()), reconcileMs).unref();
    policy.reconcile(performance.now());
    return () => {
      clearInterval(timer);
      policy.stop();
      this.#first = policy.working() ?? this.#first;
    };
  }
}
