import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { CertificatePair, Http3Server, NativeModule, ServedConnection } from '@sheaf/native';
import type { Logger } from 'pino';
import type { ValuePath } from '../../values/document.js';
import { eachAddress, type ListenAddress, type ListenAddresses } from '../../values/scalars.js';
import { errorMessage, systemErrorCode, UserError } from '../../errors/user_error.js';
import type { RequestHandler } from '../../http/request_handler.js';
import { TrustedProxies } from '../../http/trusted_proxies.js';
import { formatAddress, listenError } from '../../values/listen_error.js';
import { loadNativeModule } from '../../listeners/native_module.js';
import { Networks } from '../../values/networks.js';
import { createQuicListener, type ConnectHandlers } from '../../listeners/quic_listener.js';
import type { StreamTakers } from '../../http/taken_stream.js';
import { TcpListener } from '../../listeners/tcp_listener.js';
import type { AdminSources } from '../../observability/admin_server.js';
import type { FrontStatus, NodeStatus } from '../../observability/status.js';
import { CertificateSource } from '../../tls/certificate_source.js';
import { resetSecret } from '../../tls/reset_secret.js';
import { SecretsSource } from '../../tls/secrets_source.js';
import type { FrontOptions } from '../../schema/front.js';
import { NodeLife } from '../life/node_life.js';
import type { NodeOptions } from '../life/running_node.js';
import type { ShutdownStack } from '../life/shutdown_stack.js';

/** Options of nodes with a front */
export interface FrontNodeOptions extends NodeOptions {
  /** Loads the transport. If it resolves with undefined, only TCP is served. */
  loadNative?: () => Promise<NativeModule | undefined>;
}

/** The configuration that the front of a node needs */
export interface FrontConfiguration {
  name: string;
  role: NodeStatus['role'];
  options: FrontOptions;
  directory: string;
  certificateNames: readonly string[];
  place(path: ValuePath): string;
}

/** WebTransport sessions of a node */
export interface Sessions {
  readonly openSessions: number;
  /** Asks every session to end. Sessions may finish their work. */
  drain(): void;
  close(): void;
}

/** The part of a node that answers its clients */
export interface Service extends AdminSources {
  handler: RequestHandler;
  /** Handler for requests that other nodes proxy here */
  proxied?: RequestHandler;
  /** Gets the QUIC listener before the first connection. */
  attach?(native: Http3Server): void;
  /** Answer CONNECT over HTTP/3. */
  connects?: ConnectHandlers;
  /** As of `QuicListenerOptions` */
  initialStreamWindow?: number | undefined;
  /** Answer CONNECT over HTTP/2 and HTTP/1.1, and requests of HTTP/1.1 that upgrade. */
  takers?: StreamTakers | undefined;
  /** How often clients met the bounds of channels */
  channelLimitHits?(): Readonly<Record<string, number>>;
  /** Returns headers for every response on a QUIC connection. */
  headersFor?(connection: ServedConnection): Readonly<Record<string, string>>;
  /** Accepts the sessions of a QUIC listener. */
  acceptSessions(native: Http3Server): Promise<Sessions>;
}

/** Number of attempts to find a free port, when the configuration lets the system choose */
const portAttempts = 8;

/** Time in milliseconds for sessions without requests in flight to end by themselves */
const sessionGraceMs = 1_000;

/** The side of a node that faces clients: its certificate, listeners and log, and its orderly shutdown */
export class Front {
  readonly certificate: CertificateSource;
  readonly #life: NodeLife;
  readonly #configuration: FrontConfiguration;
  readonly #options: FrontNodeOptions;
  readonly #secrets: SecretsSource | undefined;
  readonly #balancers: Networks | undefined;
  readonly #proxies: TrustedProxies | undefined;
  #service: Service | undefined;
  #tcp: TcpListener[] = [];
  #plain: TcpListener | undefined;
  #quic: Http3Server | undefined;
  #sessions: Sessions | undefined;
  #address!: ListenAddresses;
  #httpAddress: ListenAddress | undefined;

  private constructor(
    configuration: FrontConfiguration,
    options: FrontNodeOptions,
    life: NodeLife,
    certificate: CertificateSource,
    secrets: SecretsSource | undefined,
  ) {
    this.#configuration = configuration;
    this.#options = options;
    this.#life = life;
    this.certificate = certificate;
    this.#secrets = secrets;
    const { proxy_protocol: balancers, trusted_proxies: proxies } = configuration.options;
    this.#balancers = balancers && new Networks(balancers);
    this.#proxies = proxies && new TrustedProxies(proxies);
  }

  /** Opens log and certificate, without listening yet. @throws UserError */
  static async open(configuration: FrontConfiguration, options: FrontNodeOptions): Promise<Front> {
    const { directory, certificateNames, options: node } = configuration;
    const life = new NodeLife(configuration, options);
    try {
      const { log } = life;
      const certificate = await CertificateSource.open({ tls: node.tls, directory, names: certificateNames, log });
      life.shutdown.add(() => certificate.close());
      const secrets = node.secrets === undefined ? undefined : await SecretsSource.open({ file: node.secrets, log });
      life.shutdown.add(() => secrets?.close());
      return new Front(configuration, options, life, certificate, secrets);
    } catch (error) {
      await life.shutdown.run();
      throw error;
    }
  }

  get log(): Logger {
    return this.#life.log;
  }

  /** Steps that the owner adds for shutdown; the last one runs first */
  get shutdown(): ShutdownStack {
    return this.#life.shutdown;
  }

  /** Address of HTTP/3 (UDP), and of HTTP/2 and HTTP/1.1 (TCP) */
  get address(): ListenAddresses {
    return this.#address;
  }

  /** Address of HTTP/1.1 without TLS, if configured */
  get httpAddress(): ListenAddress | undefined {
    return this.#httpAddress;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.#life.adminAddress;
  }

  /** Address where clients find this node, if configured */
  get publicUrl(): string | undefined {
    const { public_url: url } = this.#configuration.options;
    return url && new URL(`https://${url.host}:${url.port}`).href;
  }

  /** Port of `listen`, as clients see it */
  get publicPort(): number {
    return this.#configuration.options.public_url?.port ?? this.#address.port;
  }

  get quic(): Http3Server | undefined {
    return this.#quic;
  }

  /** Whether the node stops, and waits for what is in flight */
  get draining(): boolean {
    return this.#life.state === 'draining';
  }

  /** Number of requests in flight */
  get requestsActive(): number {
    return (this.#service?.handler.active ?? 0) + (this.#service?.proxied?.active ?? 0);
  }

  /** Returns how often each bound was reached that protects clients from each other. */
  limitHits(): Record<string, number> {
    const hits: Record<string, number> = {
      ...this.#quic?.counters().limitHits,
      ...this.#service?.channelLimitHits?.(),
    };
    for (const tcp of [...this.#tcp, ...(this.#plain ? [this.#plain] : [])]) {
      for (const [limit, count] of Object.entries(tcp.limitHits)) hits[limit] = (hits[limit] ?? 0) + count;
    }
    return hits;
  }

  get tcpConnections(): number {
    return [...this.#tcp, ...(this.#plain ? [this.#plain] : [])].reduce((sum, { connections }) => sum + connections, 0);
  }

  /**
   * Opens all listeners. `shutdown` stops those that were opened before a failure. @throws UserError when a port is not
   * available
   */
  async listen(service: Service): Promise<void> {
    this.#service = service;
    const native = await (this.#options.loadNative ?? loadNativeModule)();
    await this.#listenOnBoth(service, native);
    await this.#startSessions(service);
    await this.#listenPlain(service);
    await this.#life.listenAdmin(service);
    this.certificate.install = (pair) => this.#install(pair);
    this.#installSecrets();
    if (this.#secrets) this.#secrets.install = () => this.#installSecrets();
  }

  /** Marks the node as serving. */
  serve(warnings: readonly string[]): void {
    this.#life.serve(this.#listen(), warnings);
  }

  status(): FrontStatus {
    const { options } = this.#configuration;
    return {
      ...this.#life.status(),
      listen: this.#listen(),
      ...(this.publicUrl === undefined ? {} : { publicUrl: this.publicUrl }),
      alpn: options.alpn,
      certificate: {
        development: this.certificate.isDevelopment,
        sha256: this.certificate.hash,
        expiry: this.certificate.expiry.toISOString(),
      },
      requestsActive: this.requestsActive,
      requestsTotal: (this.#service?.handler.total ?? 0) + (this.#service?.proxied?.total ?? 0),
      tcpConnections: this.tcpConnections,
      limitHits: this.limitHits(),
      webTransportSessions: this.#sessions?.openSessions ?? 0,
      connections: this.#quic?.connections() ?? [],
      ...(this.#quic ? { transport: this.#quic.counters() } : {}),
    };
  }

  /** Refuses new work, waits up to `drainMs` for requests in flight, then stops. */
  close(drainMs = this.#configuration.options.limits.drain): Promise<void> {
    return this.#life.close(() => this.#drain(drainMs));
  }

  /** Installs a new certificate in all listeners, or in none. */
  #install(pair: CertificatePair): void {
    const updated: { updateCertificate(pair: CertificatePair): void }[] = [];
    try {
      for (const listener of [...this.#tcp, ...(this.#quic ? [this.#quic] : [])]) {
        listener.updateCertificate(pair);
        updated.push(listener);
      }
    } catch (error) {
      for (const listener of updated) listener.updateCertificate(this.certificate.pair);
      throw error;
    }
    if (!this.#secrets) this.#quic?.updateResetSecret(this.#resetSecret(pair));
  }

  /** Outlives the process where no file of secrets does. */
  #resetSecret(pair: CertificatePair): Buffer {
    return resetSecret(pair, hostname(), this.#address);
  }

  /** Makes all listeners use the secrets and keys as they are now. */
  #installSecrets(): void {
    if (!this.#secrets) return;
    const { secrets, ticketKeys } = this.#secrets;
    this.#quic?.updateSecrets(secrets);
    for (const tcp of this.#tcp) tcp.updateTicketKeys(ticketKeys);
  }

  /** Returns the addresses in the form that configurations use. */
  #listen(): string {
    return eachAddress(this.#address).map(formatAddress).join(', ');
  }

  /**
   * Listens on TCP and UDP with the same port. With port 0, the system chooses a port for TCP at the first address,
   * which all others must use.
   */
  async #listenOnBoth(service: Service, native: NativeModule | undefined): Promise<void> {
    const { listen } = this.#configuration.options;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#listenTcp(service);
        if (native) this.#quic = await this.#listenQuic(service, native);
        return;
      } catch (error) {
        await Promise.all(this.#tcp.map((tcp) => tcp.close(0)));
        this.#tcp = [];
        const mayRetry = listen.port === 0 && attempt < portAttempts && systemErrorCode(error) === 'PORT_TAKEN';
        if (!mayRetry) throw error;
      }
    }
  }

  async #listenTcp(service: Service): Promise<void> {
    const { listen } = this.#configuration.options;
    let { port } = listen;
    for (const { address } of eachAddress(listen)) {
      const wanted = { address, port };
      const tcp = this.#createTcp(service, wanted, true);
      ({ port } = await tcp.listen().catch((error: unknown) => this.#refuse(error, wanted, 'TCP', 'listen')));
      this.#tcp.push(tcp);
    }
    this.#address = { ...listen, port };
  }

  async #listenQuic(service: Service, module: NativeModule): Promise<Http3Server> {
    const { options } = this.#configuration;
    if (options.qlog !== undefined) await makeDirectory(options.qlog);
    const server = createQuicListener({
      module,
      address: this.#address,
      alpn: options.alpn,
      congestion: options.congestion,
      multipath: options.multipath,
      multiEnd: options.multiEnd ?? false,
      returnPaths: options.returnPaths ?? false,
      sharesPort: options.sharesPort ?? false,
      pathScheduler: options.path_scheduler,
      streamScheduler: options.stream_scheduler,
      certificate: this.certificate.pair,
      secrets: this.#secrets?.secrets,
      resetSecret: this.#resetSecret(this.certificate.pair),
      handler: service.handler,
      connects: service.connects,
      initialStreamWindow: service.initialStreamWindow,
      headersFor: (connection) => service.headersFor?.(connection) ?? {},
      limits: options.limits,
      proxies: this.#proxies,
      ...(options.qlog === undefined ? {} : { qlog: options.qlog }),
      ...(this.#options.keyLog === undefined ? {} : { keyLog: this.#options.keyLog }),
      onError: (error) => this.log.error({ err: error }, 'transport error'),
    });
    service.attach?.(server);
    await server.listen().catch((error: unknown) => {
      const { address = this.#address.address } = error as { address?: string };
      this.#refuse(error, { address, port: this.#address.port }, 'UDP', 'listen');
    });
    return server;
  }

  async #startSessions(service: Service): Promise<void> {
    const native = this.#quic;
    const tcp = this.#tcp;
    this.shutdown.add(() => Promise.all([...tcp.map((listener) => listener.close(0)), native?.close(0)]));
    if (!native || !this.#configuration.options.alpn.includes('h3')) return;
    const sessions = await service.acceptSessions(native);
    this.#sessions = sessions;
    this.shutdown.add(() => sessions.close());
  }

  async #listenPlain(service: Service): Promise<void> {
    const { http } = this.#configuration.options;
    if (!http) return;
    const plain = this.#createTcp(service, http, false);
    this.#httpAddress = await plain.listen().catch((error: unknown) => this.#refuse(error, http, 'TCP', 'http'));
    this.#plain = plain;
    this.shutdown.add(() => plain.close(0));
  }

  #createTcp({ handler, takers }: Service, address: ListenAddress, secure: boolean): TcpListener {
    const { limits, tls } = this.#configuration.options;
    return new TcpListener({
      address,
      handler,
      takers,
      limits,
      balancers: this.#balancers,
      proxies: this.#proxies,
      ...(secure
        ? {
            certificate: this.certificate.pair,
            minimumTls: tls === 'dev' ? '1.3' : tls.minimum_version,
            altSvc: () => this.#altSvc(),
          }
        : {}),
    });
  }

  /** Offers HTTP/3 for the same origin at the port that clients see, while the QUIC listener serves (RFC 7838). */
  #altSvc(): string | undefined {
    const isOffered = this.#quic && this.#life.state === 'serving' && this.#configuration.options.alpn.includes('h3');
    return isOffered ? `h3=":${this.publicPort}"; ma=86400` : undefined;
  }

  #refuse(error: unknown, address: ListenAddress, protocol: 'TCP' | 'UDP', option: 'listen' | 'http'): never {
    throw listenError(error, address, protocol, this.#configuration.place([option]));
  }

  async #drain(drainMs: number): Promise<void> {
    this.log.info({ requests: this.#service?.handler.active ?? 0 }, 'draining');
    await Promise.all([
      ...this.#tcp.map((tcp) => tcp.close(drainMs)),
      this.#plain?.close(drainMs),
      this.#closeQuic(drainMs),
    ]);
  }

  /**
   * Closes the QUIC listener. Sessions live as long as their pages, so they are told to end, and closed once no request
   * is in flight.
   */
  async #closeQuic(drainMs: number): Promise<void> {
    const deadline = performance.now() + drainMs;
    const sessionDeadline = performance.now() + Math.min(drainMs, sessionGraceMs);
    this.#sessions?.drain();
    const closed = this.#quic?.close(drainMs);
    const sessions = this.#sessions;
    while (sessions && sessions.openSessions > 0) {
      const now = performance.now();
      if (now >= deadline || (now >= sessionDeadline && this.#service?.handler.active === 0)) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    sessions?.close();
    await closed?.catch((error: unknown) =>
      this.log.warn({ error: errorMessage(error) }, 'transport did not close in order'),
    );
  }
}

async function makeDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true }).catch((error: unknown) => {
    throw new UserError(
      'DIRECTORY_UNWRITABLE',
      `the directory ${directory} cannot be made (${systemErrorCode(error) ?? 'unknown error'})`,
      { hint: 'check `qlog`', cause: error },
    );
  });
}
