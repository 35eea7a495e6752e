import { WELL_KNOWN_PREFIX } from '@sheaf/web-client/protocol';
import type { Http3Server, NativeModule } from '@sheaf/native';
import type { LoadedEdge } from '../../schema/loaded.js';
import type { ListenAddress } from '../../values/scalars.js';
import { describeListener } from '../front/description.js';
import { Front, type FrontNodeOptions } from '../front/front.js';
import type { Sessions } from '../front/service.js';
import { FrontNode } from '../front/front_node.js';
import { RequestHandler } from '../../http/request_handler.js';
import { WellKnown } from '../site/well_known.js';
import { loadNativeModule } from '../../listeners/native_module.js';
import { accessLog } from '../../observability/access_log.js';
import { Metrics } from '../../observability/metrics.js';
import { combineObservers } from '../../observability/observers.js';
import type { EdgeStatus } from '../../observability/status.js';
import { openTracer } from '../../tracing/open_tracer.js';
import { compileRoute } from '../../http/router.js';
import { watchSlowClients } from '../../slow_clients/slow_clients.js';
import { SessionServer, type SessionServerOptions } from '../../targets/webtransport/session_server.js';
import { CarriedMedia } from './carried_media.js';
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

/** One running edge, which proxies its clients' requests to its gateway over one connection */
export class Edge extends FrontNode {
  readonly role = 'edge';
  readonly warnings: readonly string[] = [];
  readonly #loaded: LoadedEdge;
  readonly #options: EdgeOptions;
  #uplink!: Uplink;
  #media!: CarriedMedia;
  /** Leases on the latest connection */
  #leases: LeaseReports | undefined;

  private constructor(loaded: LoadedEdge, options: EdgeOptions, front: Front) {
    super(loaded.name, front);
    this.#loaded = loaded;
    this.#options = options;
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
      gateway: this.#uplink.connection.status(),
      ...(this.#loaded.node.media.length > 0 && { media: this.#media.status() }),
    };
  }

  async #start(module: NativeModule): Promise<void> {
    const { front } = this;
    const { node } = this.#loaded;
    const { log } = front;
    const { uplink, backends } = this.#openUplink(module);
    this.#uplink = uplink;
    const gateway = uplink.connection;
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
        compileRoute(
          { path: '/' },
          media.requests.length,
          new Forwarder({ gateway, backends, log, reports: responses }),
        ),
      ],
      wellKnown: new WellKnown(
        describeListener(
          node,
          () => front.certificate,
          () => front.address.port,
        ),
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
      tracer: await openTracer(node.tracing),
      log,
      timingName: 'sheaf-edge',
    });
    const forwarder = new SessionForwarder({ module, gateway, observer, log });
    await front.listen({
      handler,
      acceptSessions: (native) =>
        Promise.resolve(acceptSessions(native, () => media.sessions, forwarder, { observer, log })),
      registry: metrics.registry,
      status: () => this.status(),
      refresh: () => Promise.resolve(),
    });
    media.start();
    front.serve(this.warnings);
  }

  #observe(media: CarriedMedia): Metrics {
    return new Metrics({
      ...this.frontMetrics,
      upstreams: () => [],
      media: () => media.status(),
    });
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
