import type { Http3Server, ServedConnection } from '@sheaf/native';
import { ChannelServer } from '../channels/channel_server.js';
import type { ConnectHandler, ConnectHandlers } from '../listeners/quic_listener.js';
import { sharesPort } from '../schema/listening.js';
import type { LoadedGateway, LoadedNode } from '../schema/loaded.js';
import type { NodeConfiguration } from '../schema/node.js';
import { pathsAlone } from '../multi_end/primary/backend_route.js';
import type { BackendWatch } from '../multi_end/primary/backend_watch.js';
import { Primary, returnsBy } from '../multi_end/primary/primary.js';
import { ReturnLink } from '../direct_return/gateway/return_link.js';
import { ReturnOffers } from '../direct_return/gateway/return_offers.js';
import { RouteMapResource } from '../multi_end/protocol/route_map.js';
import { Front, type FrontConfiguration } from './front/front.js';
import type { Service } from './front/service.js';
import { prepareAll, type Prepared } from './life/reload.js';
import { FrontNode } from './front/front_node.js';
import type { ListenAddress } from '../values/scalars.js';
import { loadNativeModule } from '../listeners/native_module.js';
import { RunningAddresses } from '../values/running_addresses.js';
import type { SiteOptions } from './site/site_options.js';
import { channelMetrics } from '../observability/channel_metrics.js';
import { Metrics } from '../observability/metrics.js';
import type { GatewayBackend, GatewayStatus } from '../observability/status.js';
import { SessionServer } from '../targets/webtransport/session_server.js';
import { hasTunnels } from '../schema/routes.js';
import { Site, type SiteParts } from './site/site.js';
import { CurrentTunnels } from './current_tunnels.js';
import { openTracer } from '../tracing/open_tracer.js';
import type { Tracer } from '../http/tracer.js';
import { Tunnels } from './tunnels.js';

/** `:protocol` of requests that join channels (docs/reference/wire.md#channels) */
const channelProtocol = 'sheaf-channel';

/** Time in milliseconds for backends to answer a process that takes over. It serves without them then, as the one before. */
const linkedMs = 10_000;

const serviceOf = (channels: ChannelServer): Pick<Service, 'channelLimitHits' | 'publish' | 'drain'> => ({
  // A channel goes on for as long as its receivers like.
  drain: () => channels.close(),
  channelLimitHits: () => channels.limitHits,
  publish: (channel, bytes, title) => channels.publish(channel, bytes, title),
});

function frontOf(loaded: LoadedGateway): FrontConfiguration {
  const { node, backends } = loaded;
  return {
    ...loaded,
    options: {
      ...node,
      multiEnd: backends.length > 0,
      returnPaths: backends.some(({ name }) => returnsBy(node.routes, name)),
      sharesPort: sharesPort(loaded),
    },
  };
}

/** One running gateway with its listeners, its routes and their supervision */
export class Gateway extends FrontNode {
  readonly role = 'gateway';
  readonly #options: SiteOptions;
  #loaded: LoadedGateway;
  #primary: Primary | undefined;
  #channels: ChannelServer | undefined;
  #tunnels!: CurrentTunnels;
  #site!: Site;
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
    const front = await Front.open(frontOf(loaded), options);
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
    const { udp: tunnels, tcp: tcpTunnels } = this.#tunnels.status();
    return {
      ...this.front.status(),
      role: 'gateway',
      routes: this.#site.status(),
      ...(this.#channels ? { channels: this.#channels.status() } : {}),
      ...(tunnels ? { tunnels } : {}),
      ...(tcpTunnels ? { tcpTunnels } : {}),
      ...(this.#primary ? { backends: this.#backends(this.#primary) } : {}),
    };
  }

  /** Opens what another configuration adds, and leaves everything as it is until `commit`. @throws UserError */
  prepare(loaded: LoadedNode, signal?: AbortSignal): Promise<Prepared> {
    if (loaded.role !== this.role) throw new Error(`a ${loaded.role} is no ${this.role}`);
    const steps = [
      () => this.#site.prepare(loaded.node, signal),
      () => this.#tunnels.prepare((before) => this.#openTunnels(loaded.node, before)),
      () => this.front.prepare(frontOf(loaded), signal),
      () => Promise.resolve({ warnings: [], commit: () => this.#use(loaded), abandon: () => Promise.resolve() }),
    ];
    return prepareAll(steps, signal);
  }

  /** Another process accepts connections from now on, also those of backends. */
  override stopAccepting(): void {
    super.stopAccepting();
    this.#primary?.stopAccepting();
  }

  #use(loaded: LoadedGateway): void {
    this.#loaded = loaded;
    this.#primary?.useRoutes(loaded.node.routes);
    this.#channels?.useRoutes(loaded.node.routes);
  }

  #backends(primary: Primary): GatewayBackend[] {
    return primary.report().map((report) => ({ ...report, deliveries: this.#metrics.deliveries.of(report.name) }));
  }

  async #start(): Promise<void> {
    const { front } = this;
    const { node } = this.#loaded;
    const { log } = front;
    const tracer = await openTracer(node.tracing);
    const primary = this.#loaded.backends.length > 0 ? await this.#openPrimary(tracer) : undefined;
    this.#primary = primary;
    const metrics = this.#createMetrics();
    this.#metrics = metrics;
    const site = await Site.open(node, {
      log,
      tracer,
      metrics,
      certificate: () => front.certificate,
      quicPort: () => front.address.port,
      links: this.#options.shared?.links,
      toBackends: primary && this.#routesTo(primary),
      ...(primary ? { routeMap: new RouteMapResource(() => primary.routeMap) } : {}),
    });
    this.#site = site;
    front.shutdown.add(() => site.close());
    const { handler, proxied, sessions } = site.application;
    primary?.answerWith(proxied);
    const channels = await this.#openChannels(metrics);
    this.#channels = channels;
    const tunnels = new CurrentTunnels(metrics.registry, await this.#openTunnels(node));
    this.#tunnels = tunnels;
    front.shutdown.add(() => tunnels.close());
    await front.listen({
      handler,
      proxied,
      connects: this.#connects(tunnels, channels),
      takers: tunnels.takers,
      initialStreamWindow: tunnels.initialStreamWindow,
      ...(primary && {
        attach: (native: Http3Server) => primary.attach(native),
        headersFor: (connection: ServedConnection) => primary.headersFor(connection),
        drainBackend: (name: string, drains: boolean) => primary.drain(name, drains),
      }),
      ...(channels && serviceOf(channels)),
      acceptSessions: (native) => Promise.resolve(new SessionServer({ native, ...sessions })),
      registry: metrics.registry,
      status: () => this.status(),
      refresh: () => site.refresh(),
    });
    this.#warnings = await site.start();
    if (this.#options.shared?.begins) await primary?.linked(linkedMs);
    front.serve(this.#warnings);
  }

  #createMetrics(): Metrics {
    return new Metrics({
      ...this.frontMetrics,
      upstreams: () => this.#site.upstreams,
      backends: () => this.#primary?.report() ?? [],
    });
  }

  #routesTo(primary: Primary): SiteParts['toBackends'] {
    const offers = this.#offersOf(primary);
    return (backends, ways) => {
      if (ways.includes('return')) return primary.route(backends, offers.of(ways));
      return primary.route(backends, ways.includes('path') ? pathsAlone : undefined);
    };
  }

  /** Lets backends send responses from the address of this gateway. */
  #offersOf(primary: Primary): ReturnOffers {
    const { log } = this.front;
    const links = new WeakMap<BackendWatch, ReturnLink>();
    primary.eachRuns((watch, link) => links.set(watch, new ReturnLink({ ...primary.identity, link, log })));
    return new ReturnOffers({ linkOf: (backend) => links.get(backend), log });
  }

  async #openTunnels({ routes, congestion }: NodeConfiguration, before?: Tunnels): Promise<Tunnels | undefined> {
    if (!routes.some(hasTunnels)) return undefined;
    const { front } = this;
    const module = await loadNativeModule();
    return Tunnels.open({
      routes,
      congestion,
      module,
      quic: () => front.quic,
      isDraining: () => front.draining,
      counts: this.#options.shared?.counts,
      log: front.log,
      before,
    });
  }

  #connects(tunnels: CurrentTunnels, channels: ChannelServer | undefined): ConnectHandlers {
    const joins: ConnectHandler | undefined = channels && ((request, response) => channels.answer(request, response));
    return { get: (protocol) => (protocol === channelProtocol ? joins : undefined) ?? tunnels.connect(protocol) };
  }

  async #openChannels({ registry }: Metrics): Promise<ChannelServer | undefined> {
    const { channels, routes } = this.#loaded.node;
    if (Object.keys(channels).length === 0) return undefined;
    const module = await loadNativeModule();
    const opened = await ChannelServer.open({
      ...{ module, channels, routes },
      worker: this.#options.shared?.worker,
      log: this.front.log,
    });
    channelMetrics(registry, () => opened.status());
    this.front.shutdown.add(() => opened.close());
    for (const [name, media] of this.#site.carried) {
      const source = opened.carry(name);
      if (source) media.carryTo(source);
    }
    return opened;
  }

  async #openPrimary(tracer: Tracer | undefined): Promise<Primary> {
    const { front } = this;
    const primary = await Primary.open({
      loaded: this.#loaded,
      module: await loadNativeModule(),
      running: this.#options.running ?? new RunningAddresses(),
      worker: this.#options.shared?.worker,
      shared: front.sockets?.udp('backbone'),
      tracer,
      log: front.log,
    });
    front.shutdown.add(() => primary.close());
    return primary;
  }
}
