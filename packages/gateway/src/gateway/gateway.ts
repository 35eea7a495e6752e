import type { LoadedGateway } from '../configuration/loaded.js';
import { Front, type NodeOptions } from '../front/front.js';
import { FrontNode } from '../front/front_node.js';
import { Metrics } from '../observability/metrics.js';
import type { GatewayStatus } from '../observability/status.js';
import { SessionServer } from '../webtransport/session_server.js';
import { createApplication } from './application.js';
import { compileRoutes, describeTarget, upstreamsOf, type CompiledRoutes } from './routes.js';

/** One running gateway: its listeners, its routes and what watches over them. */
export class Gateway extends FrontNode {
  readonly role = 'gateway';
  readonly #loaded: LoadedGateway;
  #routes!: CompiledRoutes;
  #warnings: string[] = [];

  private constructor(loaded: LoadedGateway, front: Front) {
    super(loaded.name, front);
    this.#loaded = loaded;
  }

  /**
   * Starts everything the configuration describes; when a part fails, what had started is stopped.
   * @throws UserError
   */
  static async start(loaded: LoadedGateway, options: NodeOptions = {}): Promise<Gateway> {
    const front = await Front.open({ ...loaded, options: loaded.node }, options);
    try {
      const gateway = new Gateway(loaded, front);
      await gateway.#start();
      return gateway;
    } catch (error) {
      await front.shutdown.run();
      throw error;
    }
  }

  /** What did not stop the start but deserves attention. Whoever starts the gateway shows it. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  status(): GatewayStatus {
    return {
      ...this.front.status(),
      role: 'gateway',
      routes: this.#loaded.node.routes.map((route, index) => ({
        route: route.path,
        target: describeTarget(route),
        ...(route.upstream ? { upstreams: upstreamsOf(this.#routes, index) } : {}),
      })),
    };
  }

  async #start(): Promise<void> {
    const { front } = this;
    const { node } = this.#loaded;
    const { log, certificate } = front;
    this.#routes = await compileRoutes(node, log);
    for (const { answer } of this.#routes.requests) front.shutdown.add(() => answer.close?.());
    const metrics = new Metrics({
      transport: () => front.quic?.counters(),
      tcpConnections: () => front.tcpConnections,
      upstreams: () => this.#routes.requests.flatMap((route) => upstreamsOf(this.#routes, route.index)),
      certificateExpiry: () => certificate.expiry,
    });
    const { handler, sessions } = createApplication({ node, log, routes: this.#routes, metrics, certificate, quicPort: () => front.address.port });
    await front.listen({
      handler,
      acceptSessions: (native) => SessionServer.start({ native, ...sessions }),
      registry: metrics.registry,
      status: () => this.status(),
      refresh: async () => void (await Promise.all(this.#routes.requests.map(({ answer }) => answer.refresh?.()))),
    });
    const warnings = await Promise.all(this.#routes.requests.map(({ answer }) => answer.start?.() ?? []));
    this.#warnings = warnings.flat();
    front.serve(this.#warnings);
  }
}
