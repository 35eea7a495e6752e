import type { Http3Server, NativeModule } from '@sheaf/native';
import type { PathReport } from '@sheaf/web-client/protocol';
import type { LoadedEdge, LoadedNode } from '../../schema/loaded.js';
import type { ListenAddress } from '../../values/scalars.js';
import { Front, type FrontConfiguration, type FrontNodeOptions } from '../front/front.js';
import type { Sessions } from '../front/service.js';
import { FrontNode } from '../front/front_node.js';
import { prepareAll, type Prepared } from '../life/reload.js';
import { loadNativeModule } from '../../listeners/native_module.js';
import { accessLog } from '../../observability/access_log.js';
import { Metrics } from '../../observability/metrics.js';
import { combineObservers } from '../../observability/observers.js';
import type { EdgeStatus } from '../../observability/status.js';
import { openTracer } from '../../tracing/open_tracer.js';
import { SessionServer, type SessionServerOptions } from '../../targets/webtransport/session_server.js';
import { CarriedMedia } from './carried_media.js';
import { EdgeApplication } from './edge_application.js';
import { Uplink } from '../uplink/uplink.js';
import { Forwarder, maxUnread } from './forwarder.js';
import { GatewayBackends } from './gateway_backends.js';
import { LeaseReports } from './lease_reports.js';
import { pathReports } from './path_reports.js';
import { ResponseReports } from './response_reports.js';
import { SessionForwarder } from './session_forwarder.js';

export interface EdgeOptions extends FrontNodeOptions {
  /** Address of the gateway in the same file, if this process runs it as well */
  gatewayAddress?: ListenAddress | undefined;
}

/**
 * Size in bytes. Unread responses (`SlowClients`) fill at most three quarters of the connection's window, so that
 * others get credit. The window has this size from the start, since unread data would keep it from growing.
 */
const maxStreamWindow = 8 * 1024 ** 2;
const connectionWindow = (maxUnread * maxStreamWindow * 4) / 3;

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

function frontOf(loaded: LoadedEdge): FrontConfiguration {
  return { ...loaded, options: { ...loaded.node, alpn: ['h3'], multipath: true } };
}

/** One running edge, which proxies its clients' requests to its gateway over one connection */
export class Edge extends FrontNode {
  readonly role = 'edge';
  readonly warnings: readonly string[] = [];
  readonly #loaded: LoadedEdge;
  readonly #options: EdgeOptions;
  #uplink!: Uplink;
  #media!: CarriedMedia;
  #application!: EdgeApplication;
  /** Leases on the latest connection */
  #leases: LeaseReports | undefined;

  private constructor(loaded: LoadedEdge, options: EdgeOptions, front: Front) {
    super(loaded.name, front);
    this.#loaded = loaded;
    this.#options = options;
  }

  /** Starts to listen. Connects to the gateway when the first request needs it. @throws UserError */
  static async start(loaded: LoadedEdge, options: EdgeOptions = {}): Promise<Edge> {
    const front = await Front.open(frontOf(loaded), options);
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
      gateway: this.#uplink.connection.status(),
      ...(this.#loaded.node.media.length > 0 && { media: this.#media.status() }),
    };
  }

  /** Opens what another configuration adds, and leaves everything as it is until `commit`. @throws UserError */
  prepare(loaded: LoadedNode, signal?: AbortSignal): Promise<Prepared> {
    if (loaded.role !== this.role) throw new Error(`a ${loaded.role} is no ${this.role}`);
    const use = (): void => this.#application.use(loaded.node);
    const steps = [
      () => this.front.prepare(frontOf(loaded), signal),
      () => Promise.resolve({ warnings: [], commit: use, abandon: () => Promise.resolve() }),
    ];
    return prepareAll(steps, signal);
  }

  async #start(module: NativeModule): Promise<void> {
    const { front } = this;
    const { node } = this.#loaded;
    const { log } = front;
    const { uplink, backends } = this.#openUplink(module);
    this.#uplink = uplink;
    const gateway = uplink.connection;
    front.shutdown.add(() => gateway.close());
    const { shared } = this.#options;
    const media = await CarriedMedia.open(node.media, { gateway, module, shared, log });
    this.#media = media;
    front.shutdown.add(() => media.close());
    const metrics = this.#observe(media);
    const observer = combineObservers([metrics.observer(), ...(node.log.access ? [accessLog(log)] : [])]);
    const reports = node.show_paths ? new ResponseReports(shared?.worker) : undefined;
    this.#application = new EdgeApplication(
      {
        ...{ front, media, observer, log },
        forwarder: new Forwarder({ gateway, backends, log, reports }),
        told: reports ? { paths: () => this.#pathReports(), responses: () => reports.latest() } : {},
        onSlow: (reason) => metrics.slowClientEnded(reason),
        tracer: await openTracer(node.tracing),
      },
      node,
    );
    const forwarder = new SessionForwarder({ module, gateway, observer, log });
    await front.listen({
      handler: this.#application.handler,
      acceptSessions: (native) =>
        Promise.resolve(acceptSessions(native, () => media.sessions, forwarder, { observer, log })),
      registry: metrics.registry,
      status: () => this.status(),
      refresh: () => Promise.resolve(),
    });
    await media.start();
    front.serve(this.warnings);
  }

  #pathReports(): PathReport[] {
    return pathReports(this.#uplink.connection.status(), this.#leases?.latest() ?? new Map());
  }

  #observe(media: CarriedMedia): Metrics {
    return new Metrics({ ...this.frontMetrics, upstreams: () => [], media });
  }

  #openUplink(module: NativeModule): { uplink: Uplink; backends: GatewayBackends } {
    const { limits, stream_scheduler: streamScheduler } = this.#loaded.node;
    const { gatewayAddress, keyLog } = this.#options;
    const uplink = new Uplink({
      loaded: this.#loaded,
      module,
      gatewayAddress,
      keyLog,
      log: this.front.log,
      transport: {
        webtransport: true,
        multiEnd: true,
        streamScheduler,
        maxStreamWindow,
        initialConnectionWindow: connectionWindow,
        maxConnectionWindow: connectionWindow,
        idleTimeoutMs: limits.idle,
      },
    });
    const backends = new GatewayBackends(uplink.connection);
    uplink.onOpen = (client) => {
      backends.add(client);
      this.#leases = new LeaseReports(client);
    };
    return { uplink, backends };
  }
}
