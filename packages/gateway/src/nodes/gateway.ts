import type { Http3Server, ServedConnection } from '@sheaf/native';
import { ChannelServer } from '../channels/channel_server.js';
import type { ConnectHandlers } from '../listeners/quic_listener.js';
import type { LoadedGateway } from '../schema/loaded.js';
import { pathsAlone } from '../multi_end/primary/backend_route.js';
import { Primary, returnsBy } from '../multi_end/primary/primary.js';
import { ReturnLink } from '../direct_return/gateway/return_link.js';
import { ReturnOffers } from '../direct_return/gateway/return_offers.js';
import { RouteMapResource } from '../multi_end/protocol/route_map.js';
import { Front, type Service, type Sessions } from './front/front.js';
import { FrontNode } from './front/front_node.js';
import type { ListenAddress } from '../values/scalars.js';
import { loadNativeModule } from '../listeners/native_module.js';
import { RunningAddresses } from '../values/running_addresses.js';
import type { SiteOptions } from './site/site_options.js';
import { channelMetrics } from '../observability/channel_metrics.js';
import { tcpTunnelMetrics, tunnelMetrics } from '../observability/tunnel_metrics.js';
import { Metrics } from '../observability/metrics.js';
import type { GatewayBackend, GatewayStatus } from '../observability/status.js';
import { SessionServer } from '../targets/webtransport/session_server.js';
import { hasTunnels } from '../schema/routes.js';
import { createApplication } from './site/application.js';
import { Tunnels } from './tunnels.js';
import {
  allUpstreams,
  compileRoutes,
  refreshRoutes,
  reportRoutes,
  startRoutes,
  type CompiledRoutes,
} from './site/routes.js';

/** `:protocol` of requests that join channels (docs/reference/wire.md#channels) */
const channelProtocol = 'sheaf-channel';

/** A channel goes on for as long as its receivers like, so it is withdrawn as soon as the gateway drains. */
function withChannels(sessions: SessionServer, channels: ChannelServer | undefined): Sessions {
  return {
    get openSessions() {
      return sessions.openSessions;
    },
    drain() {
      sessions.drain();
      channels?.close();
    },
    close: () => sessions.close(),
  };
}

const serviceOf = (channels: ChannelServer): Pick<Service, 'channelLimitHits' | 'publish'> => ({
  channelLimitHits: () => channels.limitHits,
  publish: (channel, bytes, title) => channels.publish(channel, bytes, title),
});

/** One running gateway with its listeners, its routes and their supervision */
export class Gateway extends FrontNode {
  readonly role = 'gateway';
  readonly #loaded: LoadedGateway;
  readonly #options: SiteOptions;
  #primary: Primary | undefined;
  #channels: ChannelServer | undefined;
  #tunnels: Tunnels | undefined;
  #routes!: CompiledRoutes;
  #metrics!: Metrics;
  #warnings: string[] = [];

  private constructor(loaded: LoadedGateway, options: SiteOptions, front: Front) {
    super(loaded.name, front);
    this.#loaded = loaded;
    this.#options = options;
  }

  /**
   * Starts everything that the configuration describes. If a part fails, stops what was already started.
   * @throws UserError
   */
  static async start(loaded: LoadedGateway, options: SiteOptions = {}): Promise<Gateway> {
    const front = await Front.open(
      {
        ...loaded,
        options: {
          ...loaded.node,
          multiEnd: loaded.backends.length > 0,
          returnPaths: loaded.backends.some(({ name }) => returnsBy(loaded.node.routes, name)),
          sharesPort: loaded.backends.some(({ sharesAddress }) => sharesAddress),
        },
      },
      options,
    );
    try {
      const gateway = new Gateway(loaded, options, front);
      await gateway.#start();
      return gateway;
    } catch (error) {
      await front.shutdown.run();
      throw error;
    }
  }

  /** Problems that did not stop the start. The code that starts the gateway shows them. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  get backboneAddress(): ListenAddress | undefined {
    return this.#primary?.backboneAddress;
  }

  status(): GatewayStatus {
    const { udpStatus: tunnels, tcpStatus: tcpTunnels } = this.#tunnels ?? {};
    return {
      ...this.front.status(),
      role: 'gateway',
      routes: reportRoutes(this.#loaded.node, this.#routes),
      ...(this.#channels ? { channels: this.#channels.status() } : {}),
      ...(tunnels ? { tunnels } : {}),
      ...(tcpTunnels ? { tcpTunnels } : {}),
      ...(this.#primary ? { backends: this.#backends(this.#primary) } : {}),
    };
  }

  #backends(primary: Primary): GatewayBackend[] {
    return primary.report().map((report) => ({ ...report, deliveries: this.#metrics.deliveries.of(report.name) }));
  }

  async #start(): Promise<void> {
    const { front } = this;
    const { node } = this.#loaded;
    const { log, certificate } = front;
    const primary = this.#loaded.backends.length > 0 ? await this.#openPrimary() : undefined;
    this.#primary = primary;
    const offers = primary && primary.runs.size > 0 ? this.#offersOf(primary) : undefined;
    this.#routes = await compileRoutes(
      node,
      log,
      primary &&
        ((backends, ways) => {
          if (ways.includes('return')) return primary.route(backends, offers?.of(ways));
          return primary.route(backends, ways.includes('path') ? pathsAlone : undefined);
        }),
    );
    for (const { answer } of this.#routes.requests) front.shutdown.add(() => answer.close?.());
    const metrics = new Metrics({
      transport: () => front.quic?.counters(),
      limitHits: () => front.limitHits(),
      tcpConnections: () => front.tcpConnections,
      upstreams: () => allUpstreams(this.#routes),
      certificateExpiry: () => certificate.expiry,
      backends: () => primary?.report() ?? [],
    });
    this.#metrics = metrics;
    const { handler, proxied, sessions } = createApplication({
      node,
      log,
      routes: this.#routes,
      metrics,
      certificate,
      quicPort: () => front.address.port,
      pageLoader: node.page_loader,
      ...(primary ? { routeMap: new RouteMapResource(() => primary.routeMap) } : {}),
    });
    primary?.answerWith(proxied);
    const channels = await this.#openChannels(metrics);
    this.#channels = channels;
    this.#tunnels = await this.#openTunnels(metrics);
    await front.listen({
      handler,
      proxied,
      connects: this.#connects(channels),
      takers: this.#tunnels?.takers,
      initialStreamWindow: this.#tunnels?.initialStreamWindow,
      ...(primary && {
        attach: (native: Http3Server) => primary.attach(native),
        headersFor: (connection: ServedConnection) => primary.headersFor(connection),
        drainBackend: (name: string, drains: boolean) => primary.drain(name, drains),
      }),
      ...(channels && serviceOf(channels)),
      acceptSessions: (native) => Promise.resolve(withChannels(new SessionServer({ native, ...sessions }), channels)),
      registry: metrics.registry,
      status: () => this.status(),
      refresh: () => refreshRoutes(this.#routes),
    });
    this.#warnings = await startRoutes(this.#routes);
    front.serve(this.#warnings);
  }

  /** Lets backends send responses from the address of this gateway. */
  #offersOf({ identity, runs }: Primary): ReturnOffers {
    const { log } = this.front;
    const links = new Map([...runs].map(([name, link]) => [name, new ReturnLink({ ...identity, link, log })]));
    return new ReturnOffers({ links, log });
  }

  async #openTunnels({ registry }: Metrics): Promise<Tunnels | undefined> {
    const { routes, congestion } = this.#loaded.node;
    if (!routes.some(hasTunnels)) return undefined;
    const { front } = this;
    const module = await loadNativeModule();
    const tunnels = await Tunnels.open({
      routes,
      congestion,
      module,
      quic: () => front.quic,
      isDraining: () => front.draining,
      log: front.log,
    });
    front.shutdown.add(() => tunnels?.close());
    if (tunnels?.hasUdp) tunnelMetrics(registry, () => tunnels.udpStatus);
    if (tunnels?.hasTcp) tcpTunnelMetrics(registry, () => tunnels.tcpStatus);
    return tunnels;
  }

  #connects(channels: ChannelServer | undefined): ConnectHandlers {
    const connects = new Map(this.#tunnels?.connects);
    if (channels) connects.set(channelProtocol, (request, response) => channels.answer(request, response));
    return connects;
  }

  async #openChannels({ registry }: Metrics): Promise<ChannelServer | undefined> {
    const { channels, routes } = this.#loaded.node;
    if (Object.keys(channels).length === 0) return undefined;
    const module = await loadNativeModule();
    const opened = await ChannelServer.open({ module, channels, routes, log: this.front.log });
    channelMetrics(registry, () => opened.status());
    this.front.shutdown.add(() => opened.close());
    for (const [name, media] of this.#routes.carried) media.carryTo(opened.carry(name));
    return opened;
  }

  async #openPrimary(): Promise<Primary> {
    const { front } = this;
    const primary = await Primary.open({
      loaded: this.#loaded,
      module: await loadNativeModule(),
      running: this.#options.running ?? new RunningAddresses(),
      log: front.log,
    });
    front.shutdown.add(() => primary.close());
    return primary;
  }
}
