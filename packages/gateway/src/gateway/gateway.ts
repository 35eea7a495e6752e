import { mkdir } from 'node:fs/promises';
import type { Http3Server, NativeModule } from '@sheaf/native';
import type { DestinationStream, Logger } from 'pino';
import type { LoadedConfiguration } from '../configuration/load.js';
import type { ListenAddress } from '../configuration/scalars.js';
import { errorMessage, systemErrorCode, UserError } from '../errors/user_error.js';
import type { RequestHandler } from '../http/request_handler.js';
import { formatAddress, listenError } from '../listeners/listen_error.js';
import { loadNativeModule } from '../listeners/native_module.js';
import { createQuicListener } from '../listeners/quic_listener.js';
import { TcpListener } from '../listeners/tcp_listener.js';
import { AdminServer } from '../observability/admin_server.js';
import { createLog } from '../observability/log.js';
import { Metrics } from '../observability/metrics.js';
import type { GatewayState, GatewayStatus } from '../observability/status.js';
import { CertificateSource } from '../tls/certificate_source.js';
import { version } from '../version.js';
import { SessionServer } from '../webtransport/session_server.js';
import { createApplication, type Application } from './application.js';
import { certificateNames } from './names.js';
import { compileRoutes, describeTarget, upstreamsOf, type CompiledRoutes } from './routes.js';
import { ShutdownStack } from './shutdown_stack.js';

export interface GatewayOptions {
  /** Receives the log instead of standard error. */
  logStream?: DestinationStream;
  /** File for TLS secrets (SSLKEYLOGFILE). */
  keyLog?: string;
  /** Loads the transport; `undefined` serves TCP alone. */
  loadNative?: () => Promise<NativeModule | undefined>;
}

/** How often a free port is looked for when the configuration leaves the choice to the system. */
const portAttempts = 8;

/** Sessions that have nothing under way get this long to end by themselves. */
const sessionGraceMs = 1_000;

/** One running gateway: its listeners, its routes and what watches over them. */
export class Gateway {
  readonly #loaded: LoadedConfiguration;
  readonly #options: GatewayOptions;
  readonly #log: Logger;
  readonly #startedAt = new Date();
  readonly #shutdown = new ShutdownStack();
  #state: GatewayState = 'starting';
  #routes!: CompiledRoutes;
  #certificate!: CertificateSource;
  #application!: Application;
  #metrics!: Metrics;
  #tcp: TcpListener | undefined;
  #plain: TcpListener | undefined;
  #quic: Http3Server | undefined;
  #sessions: SessionServer | undefined;
  #address!: ListenAddress;
  #httpAddress: ListenAddress | undefined;
  #adminAddress: ListenAddress | undefined;
  #warnings: string[] = [];
  #closing: Promise<void> | undefined;

  private constructor(loaded: LoadedConfiguration, options: GatewayOptions) {
    this.#loaded = loaded;
    this.#options = options;
    this.#log = createLog(loaded.node.log, options.logStream);
  }

  /**
   * Starts everything the configuration describes; when a part fails, what had started is stopped.
   * @throws UserError
   */
  static async start(loaded: LoadedConfiguration, options: GatewayOptions = {}): Promise<Gateway> {
    const gateway = new Gateway(loaded, options);
    try {
      await gateway.#start();
      return gateway;
    } catch (error) {
      await gateway.#shutdown.run();
      throw error;
    }
  }

  /** Where HTTP/3 (UDP), HTTP/2 and HTTP/1.1 (TCP) are served. */
  get address(): ListenAddress {
    return this.#address;
  }

  /** Where HTTP/1.1 without TLS is served, when configured. */
  get httpAddress(): ListenAddress | undefined {
    return this.#httpAddress;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.#adminAddress;
  }

  /** What did not stop the start but deserves attention. Whoever starts the gateway shows it. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  get certificate(): CertificateSource {
    return this.#certificate;
  }

  status(): GatewayStatus {
    const { node } = this.#loaded;
    return {
      version,
      pid: process.pid,
      state: this.#state,
      startedAt: this.#startedAt.toISOString(),
      uptimeSeconds: (Date.now() - this.#startedAt.getTime()) / 1_000,
      listen: formatAddress(this.#address),
      alpn: node.alpn,
      certificate: {
        development: this.#certificate.isDevelopment,
        sha256: this.#certificate.hash,
        expiry: this.#certificate.expiry.toISOString(),
      },
      requestsActive: this.#application.handler.active,
      requestsTotal: this.#application.handler.total,
      tcpConnections: this.#tcpConnections(),
      webTransportSessions: this.#sessions?.openSessions ?? 0,
      routes: node.routes.map((route, index) => ({
        route: route.path,
        target: describeTarget(route),
        ...(route.upstream ? { upstreams: upstreamsOf(this.#routes, index) } : {}),
      })),
      connections: this.#quic?.connections() ?? [],
      ...(this.#quic ? { transport: this.#quic.counters() } : {}),
    };
  }

  /** Refuses new work, lets requests under way finish for up to `drainMs`, then ends. */
  close(drainMs = this.#loaded.node.limits.drain): Promise<void> {
    this.#closing ??= this.#close(drainMs);
    return this.#closing;
  }

  async #start(): Promise<void> {
    const { node, directory } = this.#loaded;
    const log = this.#log;
    this.#certificate = await CertificateSource.open({ tls: node.tls, directory, names: certificateNames(node), log });
    this.#shutdown.add(() => this.#certificate.close());
    this.#routes = await compileRoutes(node, log);
    for (const { answer } of this.#routes.requests) this.#shutdown.add(() => answer.close?.());
    this.#metrics = new Metrics({
      transport: () => this.#quic?.counters(),
      tcpConnections: () => this.#tcpConnections(),
      upstreams: () => this.#routes.requests.flatMap((route) => upstreamsOf(this.#routes, route.index)),
      certificateExpiry: () => this.#certificate.expiry,
    });
    this.#application = createApplication({ node, log, routes: this.#routes, metrics: this.#metrics, certificate: this.#certificate, quicPort: () => this.#address.port });
    const native = await (this.#options.loadNative ?? loadNativeModule)();
    await this.#listenOnBoth(native);
    await this.#startSessions();
    await this.#listenPlain();
    await this.#listenAdmin();
    this.#certificate.on('change', (pair) => {
      this.#tcp?.updateCertificate(pair);
      this.#quic?.updateCertificate(pair);
    });
    const warnings = await Promise.all(this.#routes.requests.map(({ answer }) => answer.start?.() ?? []));
    this.#warnings = warnings.flat();
    // On standard error they would stand twice, as the caller shows them there.
    if (node.log.file !== undefined || this.#options.logStream) for (const warning of this.#warnings) log.warn(warning);
    this.#state = 'serving';
    log.info({ listen: formatAddress(this.#address), version }, 'serving');
  }

  /** TCP and UDP share the port. With port 0 the system chooses for TCP, and UDP has to follow. */
  async #listenOnBoth(native: NativeModule | undefined): Promise<void> {
    const { listen } = this.#loaded.node;
    for (let attempt = 1; ; attempt++) {
      const tcp = this.#createTcp(this.#application.handler, listen, true);
      this.#address = await tcp.listen().catch((error: unknown) => this.#refuse(error, listen, 'TCP', 'listen'));
      try {
        if (native) this.#quic = await this.#listenQuic(native);
        this.#tcp = tcp;
        return;
      } catch (error) {
        await tcp.close(0);
        const mayRetry = listen.port === 0 && attempt < portAttempts && systemErrorCode(error) === 'EADDRINUSE';
        if (!mayRetry) this.#refuse(error, this.#address, 'UDP', 'listen');
      }
    }
  }

  async #listenQuic(native: NativeModule): Promise<Http3Server> {
    const { node } = this.#loaded;
    if (node.qlog !== undefined) await makeDirectory(node.qlog);
    const server = createQuicListener({
      module: native,
      address: this.#address,
      alpn: node.alpn,
      congestion: node.congestion,
      multipath: node.multipath,
      pathScheduler: node.path_scheduler,
      certificate: this.#certificate.pair,
      handler: this.#application.handler,
      limits: node.limits,
      ...(node.qlog === undefined ? {} : { qlog: node.qlog }),
      ...(this.#options.keyLog === undefined ? {} : { keyLog: this.#options.keyLog }),
      onError: (error) => this.#log.error({ err: error }, 'transport error'),
    });
    await server.listen();
    return server;
  }

  async #startSessions(): Promise<void> {
    const native = this.#quic;
    const tcp = this.#tcp;
    this.#shutdown.add(() => Promise.all([tcp?.close(0), native?.close(0)]));
    if (!native || !this.#loaded.node.alpn.includes('h3')) return;
    const sessions = await SessionServer.start({ native, ...this.#application.sessions });
    this.#sessions = sessions;
    this.#shutdown.add(() => sessions.close());
  }

  async #listenPlain(): Promise<void> {
    const { http } = this.#loaded.node;
    if (!http) return;
    const plain = this.#createTcp(this.#application.handler, http, false);
    this.#httpAddress = await plain.listen().catch((error: unknown) => this.#refuse(error, http, 'TCP', 'http'));
    this.#plain = plain;
    this.#shutdown.add(() => plain.close(0));
  }

  async #listenAdmin(): Promise<void> {
    const { admin } = this.#loaded.node;
    if (!admin) return;
    const server = new AdminServer(admin, {
      registry: this.#metrics.registry,
      status: () => this.status(),
      refresh: async () => void (await Promise.all(this.#routes.requests.map(({ answer }) => answer.refresh?.()))),
    });
    this.#adminAddress = await server.listen().catch((error: unknown) => this.#refuse(error, admin, 'TCP', 'admin'));
    this.#shutdown.add(() => server.close());
  }

  #createTcp(handler: RequestHandler, address: ListenAddress, secure: boolean): TcpListener {
    return new TcpListener({
      address,
      handler,
      limits: this.#loaded.node.limits,
      ...(secure ? { certificate: this.#certificate.pair, altSvc: () => this.#altSvc() } : {}),
    });
  }

  /** RFC 7838: the same origin by HTTP/3 on the same port. */
  #altSvc(): string | undefined {
    return this.#quic && this.#loaded.node.alpn.includes('h3') ? `h3=":${this.#address.port}"; ma=86400` : undefined;
  }

  #tcpConnections(): number {
    return (this.#tcp?.connections ?? 0) + (this.#plain?.connections ?? 0);
  }

  #refuse(error: unknown, address: ListenAddress, protocol: 'TCP' | 'UDP', option: 'listen' | 'http' | 'admin'): never {
    throw listenError(error, address, protocol, this.#loaded.place([option]));
  }

  async #close(drainMs: number): Promise<void> {
    this.#state = 'draining';
    this.#log.info({ requests: this.#application.handler.active }, 'draining');
    await Promise.all([this.#tcp?.close(drainMs), this.#plain?.close(drainMs), this.#closeQuic(drainMs)]);
    await this.#shutdown.run();
    this.#state = 'stopped';
    this.#log.info('stopped');
    this.#log.flush();
  }

  /** Sessions live as long as their pages: they are told, and closed once no request is under way. */
  async #closeQuic(drainMs: number): Promise<void> {
    const deadline = performance.now() + drainMs;
    const sessionDeadline = performance.now() + Math.min(drainMs, sessionGraceMs);
    this.#sessions?.drain();
    const closed = this.#quic?.close(drainMs);
    const sessions = this.#sessions;
    while (sessions && sessions.openSessions > 0) {
      const now = performance.now();
      if (now >= deadline || (now >= sessionDeadline && this.#application.handler.active === 0)) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    sessions?.close();
    await closed?.catch((error: unknown) => this.#log.warn({ error: errorMessage(error) }, 'transport did not close in order'));
  }
}

async function makeDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true }).catch((error: unknown) => {
    throw new UserError('DIRECTORY_UNWRITABLE', `the directory ${directory} cannot be made (${systemErrorCode(error) ?? 'unknown error'})`, { hint: 'check `qlog`', cause: error });
  });
}
