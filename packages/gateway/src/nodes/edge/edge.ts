import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { WELL_KNOWN_PREFIX } from '@sheaf/web-client/protocol';
import type { Http3Client, Http3Server, NativeModule } from '@sheaf/native';
import type { LoadedEdge } from '../../schema/loaded.js';
import type { ListenAddress } from '../../values/scalars.js';
import { describeListener } from '../front/description.js';
import { Front, type NodeOptions, type Sessions } from '../front/front.js';
import { FrontNode } from '../front/front_node.js';
import { congestionControl } from '../../values/transport_names.js';
import { RequestHandler } from '../../http/request_handler.js';
import { WellKnown } from '../site/well_known.js';
import { loadNativeModule } from '../../listeners/native_module.js';
import { accessLog } from '../../observability/access_log.js';
import { Metrics } from '../../observability/metrics.js';
import { combineObservers } from '../../observability/observers.js';
import type { EdgeStatus } from '../../observability/status.js';
import { compileRoute } from '../../http/router.js';
import { watchSlowClients } from '../../slow_clients/slow_clients.js';
import { SessionServer, type SessionServerOptions } from '../../targets/webtransport/session_server.js';
import { CarriedMedia } from './carried_media.js';
import { connectFirst } from './connect_first.js';
import { Forwarder } from './forwarder.js';
import { connectionOptions, GatewayConnection, keepAliveMs } from './gateway_connection.js';
import { gatewayTarget, type GatewayTarget } from './gateway_target.js';
import { LeaseReports } from './lease_reports.js';
import { PathPolicy } from './path_policy.js';
import { pathReports } from './path_reports.js';
import { ResponseReports } from './response_reports.js';
import { SessionForwarder } from './session_forwarder.js';
import { startingWith, wantedPaths, type WantedPath } from './wanted_paths.js';

export interface EdgeOptions extends NodeOptions {
  /** Address of the gateway in the same file, if this process runs it as well */
  gatewayAddress?: ListenAddress;
}

/** Interval at which the machine's addresses are checked */
const reconcileMs = 1_000;

/** Answers sessions of these routes, and forwards the others. */
function acceptSessions(
  native: Http3Server,
  routes: SessionServerOptions['routes'],
  forwarder: SessionForwarder,
  common: Pick<SessionServerOptions, 'observer' | 'log'>,
): Sessions {
  const own = new SessionServer({
    ...common,
    native,
    routes,
    otherwise: (request) => void forwarder.forward(request),
  });
  const parts: Sessions[] = [own, forwarder];
  return {
    get openSessions() {
      return own.openSessions + forwarder.openSessions;
    },
    drain: () => parts.forEach((part) => part.drain()),
    close: () => parts.forEach((part) => part.close()),
  };
}

/** One running edge, which proxies its clients' requests to its gateway over one connection */
export class Edge extends FrontNode {
  readonly role = 'edge';
  readonly warnings: readonly string[] = [];
  readonly #loaded: LoadedEdge;
  readonly #options: EdgeOptions;
  readonly #target: GatewayTarget;
  #gateway!: GatewayConnection;
  #media!: CarriedMedia;
  /** Leases on the latest connection */
  #leases: LeaseReports | undefined;
  /** IP address of the gateway at the latest attempt to connect */
  #gatewayIp = '';
  /** Path of the latest handshake; after that connection, a path that still worked */
  #first: WantedPath | undefined;

  private constructor(loaded: LoadedEdge, options: EdgeOptions, front: Front) {
    super(loaded.name, front);
    this.#loaded = loaded;
    this.#options = options;
    this.#target = gatewayTarget(loaded, options.gatewayAddress);
  }

  /** Starts to listen. Connects to the gateway when the first request needs it. @throws UserError */
  static async start(loaded: LoadedEdge, options: EdgeOptions = {}): Promise<Edge> {
    const front = await Front.open({ ...loaded, options: { ...loaded.node, alpn: ['h3'], multipath: true } }, options);
    try {
      const edge = new Edge(loaded, options, front);
      await edge.#start(await loadNativeModule());
      return edge;
    } catch (error) {
      await front.shutdown.run();
      throw error;
    }
  }

  status(): EdgeStatus {
    return {
      ...this.front.status(),
      role: 'edge',
      gateway: this.#gateway.status(),
      ...(this.#loaded.node.media.length > 0 && { media: this.#media.status() }),
    };
  }

  async #start(module: NativeModule): Promise<void> {
    const { front } = this;
    const { node } = this.#loaded;
    const { log, certificate } = front;
    const { host, port } = this.#target;
    const gateway = new GatewayConnection({
      host,
      port,
      log,
      connect: (attempt) => this.#connect(module, attempt),
      onOpen: (client) => this.#onOpen(client),
    });
    this.#gateway = gateway;
    front.shutdown.add(() => gateway.close());
    const media = await CarriedMedia.open(node.media, { gateway, module, log });
    this.#media = media;
    front.shutdown.add(() => media.close());
    const metrics = this.#observe(media);
    const observer = combineObservers([metrics.observer(), ...(node.log.access ? [accessLog(log)] : [])]);
    const responses = node.show_paths ? new ResponseReports() : undefined;
    const handler = new RequestHandler({
      routes: [
        ...media.requests,
        compileRoute({ path: '/' }, media.requests.length, new Forwarder(gateway, log, responses)),
      ],
      wellKnown: new WellKnown(
        describeListener(node, certificate, () => front.address.port),
        {
          paths: node.show_paths ? () => pathReports(gateway.status(), this.#leases?.latest() ?? new Map()) : undefined,
          responses: responses && (() => responses.latest()),
          pageLoader: node.page_loader,
        },
      ),
      wellKnownPrefix: WELL_KNOWN_PREFIX,
      maxHeaderBytes: node.limits.header_size,
      slowClients: watchSlowClients(node.limits, (reason) => metrics.slowClientEnded(reason)),
      observer,
      log,
      timingName: 'sheaf-edge',
    });
    const forwarder = new SessionForwarder({ module, gateway, observer, log });
    await front.listen({
      handler,
      acceptSessions: (native) => Promise.resolve(acceptSessions(native, media.sessions, forwarder, { observer, log })),
      registry: metrics.registry,
      status: () => this.status(),
      refresh: () => Promise.resolve(),
    });
    media.start();
    front.serve(this.warnings);
  }

  #observe(media: CarriedMedia): Metrics {
    const { front } = this;
    return new Metrics({
      transport: () => front.quic?.counters(),
      limitHits: () => front.limitHits(),
      tcpConnections: () => front.tcpConnections,
      upstreams: () => [],
      certificateExpiry: () => front.certificate.expiry,
      media: () => media.status(),
    });
  }

  /**
   * Connects, beginning with the path that worked last. After failures it begins with another path, since a path may
   * let only handshakes through.
   */
  async #connect(module: NativeModule, attempt: number): Promise<Http3Client> {
    const { paths } = this.#loaded.node;
    if (paths === 'auto') this.#gatewayIp = await this.#resolve();
    const wanted = startingWith(this.#first, wantedPaths(paths, this.#gatewayIp));
    const turn = attempt % Math.max(wanted.length, 1);
    const inTurn = wanted.length === 0 ? [undefined] : [...wanted.slice(turn), ...wanted.slice(0, turn)];
    const { path, connection } = await connectFirst(inTurn, (each) => this.#connectOn(each, module));
    this.#first = path;
    return connection;
  }

  /** Connects over a path. Without a path, the system chooses one. */
  async #connectOn(path: WantedPath | undefined, { connectHttp3 }: NativeModule): Promise<Http3Client> {
    const { node } = this.#loaded;
    const { serverName, port, trust } = this.#target;
    const { keyLog } = this.#options;
    return connectHttp3({
      ...connectionOptions,
      host: serverName ?? this.#target.host,
      port,
      remote: path?.remote ?? { address: await this.#resolve(path), port },
      ...(path ? { localAddress: path.local } : {}),
      ...(await trust()),
      idleTimeoutMs: node.limits.idle,
      keepAliveMs: Math.min(keepAliveMs, Math.ceil(node.limits.idle / 3)),
      congestionControl: congestionControl(node.congestion),
      pathScheduler: node.path_scheduler,
      streamScheduler: node.stream_scheduler,
      ...(node.qlog === undefined ? {} : { qlogDirectory: node.qlog }),
      ...(keyLog === undefined ? {} : { keyLogFile: keyLog }),
    });
  }

  /** Resolves the gateway's IP address, of the path's family if there is a path. */
  async #resolve(path?: WantedPath): Promise<string> {
    return (await lookup(this.#target.host, { family: path ? isIP(path.local) : 0 })).address;
  }

  #onOpen(client: Http3Client): () => void {
    this.#leases = new LeaseReports(client);
    return this.#keepPaths(client);
  }

  #keepPaths(client: Http3Client): () => void {
    const { paths } = this.#loaded.node;
    const gateway = this.#gatewayIp;
    const policy = new PathPolicy({
      connection: client,
      first: this.#first,
      wanted: () => wantedPaths(paths, gateway),
      log: this.front.log,
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
