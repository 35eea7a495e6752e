import { openReturnSocket, type Http3Server, type NativeModule, type ReturnSocket } from '@sheaf/native';
import { BackboneLink } from '../multi_end/backbone/backbone_link.js';
import { BackboneListener, type BackboneListenerOptions } from '../multi_end/backbone/backbone_listener.js';
import { ownKey, publicKeyOf } from '../multi_end/backbone/identity.js';
import { newRun } from '../multi_end/backbone/run.js';
import type { NodeKey, NodePublicKey } from '../values/node_key.js';
import { loadSodium } from '../multi_end/backbone/sealed_message.js';
import { keySource, type LoadedBackend, type LoadedNode } from '../schema/loaded.js';
import { Front, type FrontConfiguration } from './front/front.js';
import { prepareAll, type Prepared } from './life/reload.js';
import { FrontNode } from './front/front_node.js';
import { Site } from './site/site.js';
import type { SiteOptions } from './site/site_options.js';
import { fromBackboneRequest } from '../http/quic_request.js';
import type { RequestHandler } from '../http/request_handler.js';
import { formatAddress, listenError } from '../values/listen_error.js';
import { loadNativeModule } from '../listeners/native_module.js';
import { Metrics } from '../observability/metrics.js';
import type { BackendNodeStatus } from '../observability/status.js';
import { SessionServer } from '../targets/webtransport/session_server.js';
import { HostedGuests } from '../multi_end/backend/hosted_guests.js';
import { ReturnedResponses } from '../direct_return/backend/returned_responses.js';
import { ReturnSessions, type ReturnSessionsOptions } from '../direct_return/backend/return_sessions.js';
import { RunningAddresses } from '../values/running_addresses.js';
import { returnAddressError } from '../values/return_address_error.js';
import { LoadMeter } from '../multi_end/backend/load_meter.js';
import { PrimaryRoute } from '../multi_end/backend/primary_route.js';
import { openTracer } from '../tracing/open_tracer.js';
import { loadHeader } from '../multi_end/protocol/route_map.js';

function frontOf(loaded: LoadedBackend): FrontConfiguration {
  return { ...loaded, options: { ...loaded.node, alpn: ['h3'], multipath: true } };
}

/**
 * One running backend. It answers clients of its gateway on their own connections, and clients that connect to it
 * directly.
 */
export class Backend extends FrontNode {
  readonly role = 'backend';
  #loaded: LoadedBackend;
  readonly #options: SiteOptions;
  #site!: Site;
  #warnings: string[] = [];
  #backbone!: BackboneListener;
  #primary!: BackboneLink;
  #guests!: HostedGuests;
  #returns: Returns | undefined;
  /** When this node stops at last, whatever still needs it */
  #closesBy = Number.NEGATIVE_INFINITY;

  private constructor(loaded: LoadedBackend, options: SiteOptions, front: Front) {
    super(loaded.name, front);
    this.#loaded = loaded;
    this.#options = options;
  }

  /** Starts to listen. Its gateway connects when it is running. @throws UserError */
  static async start(loaded: LoadedBackend, options: SiteOptions = {}): Promise<Backend> {
    const front = await Front.open(frontOf(loaded), options);
    try {
      const backend = new Backend(loaded, options, front);
      await backend.#start(await loadNativeModule());
      return backend;
    } catch (error) {
      await front.shutdown.run();
      throw error;
    }
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  get backboneAddress(): BackboneListener['address'] {
    return this.#backbone.address;
  }

  status(): BackendNodeStatus {
    return {
      ...this.front.status(),
      role: 'backend',
      primary: { name: this.#loaded.primary.name, connected: this.#guests.attended },
      serving: this.#guests.state === 'serving',
      guests: this.#guests.count,
      ...this.#returnStatus(),
      routes: this.#site.status(),
    };
  }

  #returnStatus(): Pick<BackendNodeStatus, 'return'> {
    const { return: options } = this.#loaded.node;
    if (!this.#returns || !options) return {};
    const { all, stats } = this.#returns.sessions;
    const { from, via, recovery } = options;
    return { return: { from: from.map(formatAddress), via, recovery, sessions: all.length, ...stats } };
  }

  /** Opens what another configuration adds, and leaves everything as it is until `commit`. @throws UserError */
  prepare(loaded: LoadedNode, signal?: AbortSignal): Promise<Prepared> {
    if (loaded.role !== this.role) throw new Error(`a ${loaded.role} is no ${this.role}`);
    const steps = [
      () => this.#site.prepare(loaded.node, signal),
      () => this.front.prepare(frontOf(loaded), signal),
      () => Promise.resolve({ warnings: [], commit: () => (this.#loaded = loaded), abandon: () => Promise.resolve() }),
    ];
    return prepareAll(steps, signal);
  }

  /** Another process accepts connections from now on, also those that the gateway hands over. */
  override stopAccepting(): void {
    super.stopAccepting();
    this.#guests.replace();
  }

  /** Drains clients of the gateway first, so that they can change to other backends. */
  override close(drainMs = this.#loaded.node.limits.drain): Promise<void> {
    this.#guests.stop();
    this.#closesBy = performance.now() + drainMs;
    return super.close(drainMs);
  }

  async #start(module: NativeModule): Promise<void> {
    const { front } = this;
    const { node } = this.#loaded;
    const { log } = front;
    const tracer = await openTracer(node.tracing);
    const key = await ownKey(keySource(this.#loaded, this.#loaded.directory));
    const primaryKey = await publicKeyOf(this.#loaded.primary.identity);
    const run = newRun(this.#options.shared?.worker);
    this.#primary = this.#linkToPrimary({ module, key, run, primaryKey });
    front.shutdown.add(() => this.#primary.close());
    const metrics = this.#createMetrics();
    const meter = new LoadMeter();
    front.shutdown.add(() => meter.close());
    const fallback = new PrimaryRoute(this.#primary, log);
    const site = await Site.open(node, {
      log,
      tracer,
      metrics,
      certificate: () => front.certificate,
      quicPort: () => front.address.port,
      links: this.#options.shared?.links,
      backend: this.#loaded.name,
      fallback,
    });
    this.#site = site;
    front.shutdown.add(() => site.close());
    const { handler, proxied, sessions } = site.application;
    let server: Http3Server | undefined;
    const sodium = await loadSodium();
    this.#returns = this.#openReturns({ key, sodium, run });
    this.#guests = new HostedGuests({
      server: () => server,
      key,
      sodium,
      log,
      returns: this.#returns !== undefined,
      most: node.limits.connections,
      reading: () => {
        const { bytesSent = 0, bytesReceived = 0 } = front.quic?.counters() ?? {};
        return { load: meter.load, requests: front.requestsActive, bytesSent, bytesReceived };
      },
    });
    await front.listen({
      handler,
      proxied,
      attach: (native) => void (server = native),
      headersFor: () => ({ [loadHeader]: meter.load.toFixed(3) }),
      acceptSessions: (native) => Promise.resolve(new SessionServer({ native, ...sessions })),
      registry: metrics.registry,
      status: () => this.status(),
      refresh: () => site.refresh(),
    });
    await this.#openBackbone({ module, key, run, primaryKey }, proxied);
    this.#warnings = await site.start();
    front.serve(this.#warnings);
  }

  #createMetrics(): Metrics {
    return new Metrics({
      ...this.frontMetrics,
      upstreams: () => this.#site.upstreams,
      guests: () => this.#guests.count,
      returned: () => this.#returns?.sessions.stats,
    });
  }

  async #openBackbone(identities: Identities, proxied: RequestHandler): Promise<void> {
    const backbone = await this.#listenForPrimary(identities, (request, response) => {
      this.#returns?.responses.prepare(request, response);
      void proxied.handle(fromBackboneRequest(request, response), response);
    });
    this.#backbone = backbone;
    this.front.shutdown.add(() => backbone.close());
    backbone.on('channel', (channel) => this.#guests.attach(channel));
    backbone.on('runs', (channel, request) => this.#returns?.sessions.attach(channel, request));
    this.front.shutdown.add(() => this.#finish(proxied));
  }

  /** Waits until no response that has begun needs this backend. It proxies what it cannot send itself. */
  async #finish(proxied: RequestHandler): Promise<void> {
    const left = (): number => this.#closesBy - performance.now();
    await this.#guests.needless(left());
    await proxied.idle(left());
  }

  /** Opens the sockets that send from addresses of gateways. @throws UserError */
  #openReturns(identity: Pick<ReturnSessionsOptions, 'key' | 'sodium' | 'run'>): Returns | undefined {
    const { node, place } = this.#loaded;
    const { log } = this.front;
    if (!node.return) return undefined;
    const { from, via, recovery } = node.return;
    const sockets = from.map((address, index): ReturnSocket => {
      try {
        return openReturnSocket({ from: address, via });
      } catch (error) {
        throw returnAddressError(error, place(['return', 'from', index]));
      }
    });
    this.front.shutdown.add(() => sockets.forEach((socket) => socket.close()));
    const sessions = new ReturnSessions({ ...identity, sockets, recovery, log });
    const responses = new ReturnedResponses({
      name: this.name,
      sessions: () => sessions.all,
      draining: () => this.#guests.state === 'draining',
      log,
    });
    return { sessions, responses };
  }

  #linkToPrimary({ module, key, run, primaryKey }: Identities): BackboneLink {
    const { name, primary } = this.#loaded;
    const running = this.#options.running ?? new RunningAddresses();
    return new BackboneLink({
      module,
      use: 'requests',
      name,
      key,
      run,
      peer: { name: primary.name, publicKey: primaryKey },
      address: () => running.backboneOf(primary.name, primary.backbone),
      log: this.front.log,
    });
  }

  #listenForPrimary(
    { module, key, run, primaryKey }: Identities,
    onRequest: BackboneListenerOptions['onRequest'],
  ): Promise<BackboneListener> {
    const { name, primary, node, place } = this.#loaded;
    const callers = new Map([[primary.name, primaryKey]]);
    const hint = `if it is the primary of \`${name}\`, its \`public_key\` there is`;
    return BackboneListener.listen({
      module,
      name,
      key,
      run,
      address: node.backbone,
      shared: this.front.sockets?.udp('backbone'),
      callers,
      takesRuns: this.#returns !== undefined,
      hint,
      onRequest,
      log: this.front.log,
    }).catch((error: unknown) => {
      throw listenError(error, node.backbone, 'UDP', place(['backbone']));
    });
  }
}

/** What lets this backend send from the address of a gateway */
interface Returns {
  sessions: ReturnSessions;
  responses: ReturnedResponses;
}

/** The identities of this process and of the gateway */
interface Identities {
  module: NativeModule;
  key: NodeKey;
  run: Buffer;
  primaryKey: NodePublicKey;
}
