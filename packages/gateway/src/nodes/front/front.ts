import type { Http3Server, NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import { TrustedProxies } from '../../http/trusted_proxies.js';
import { loadNativeModule } from '../../listeners/native_module.js';
import type { TcpListener } from '../../listeners/tcp_listener.js';
import type { RegistryStatus } from '../../observability/registry_report.js';
import type { FrontStatus, NodeStatus } from '../../observability/status.js';
import type { FrontOptions } from '../../schema/front.js';
import { CertificateSource } from '../../tls/certificate_source.js';
import { SecretsSource } from '../../tls/secrets_source.js';
import { canonicalText } from '../../values/canonical.js';
import type { ValuePath } from '../../values/document.js';
import { formatAddress, listenError } from '../../values/listen_error.js';
import { Networks } from '../../values/networks.js';
import { eachAddress, type ListenAddress, type ListenAddresses } from '../../values/scalars.js';
import { NodeLife } from '../life/node_life.js';
import { Place } from '../life/place.js';
import { prepareAll, type Prepared } from '../life/reload.js';
import type { NodeOptions } from '../life/running_node.js';
import type { ShutdownStack } from '../life/shutdown_stack.js';
import { ClientPort, createTcp, type ListenerParts } from './client_port.js';
import type { GivenSockets, KeptSockets } from './given_sockets.js';
import type { Service } from './service.js';
import type { SharedParts } from './shared_parts.js';

/** Options of nodes with a front */
export interface FrontNodeOptions extends NodeOptions {
  /** Loads the transport. If it resolves with undefined, only TCP is served. */
  loadNative?: () => Promise<NativeModule | undefined>;
  /** Present where the node is one of several alike in this process */
  shared?: SharedParts;
  /** Present where the service manager may keep the sockets of the node */
  kept?: KeptSockets | undefined;
}

/** The configuration that the front of a node needs */
export interface FrontConfiguration {
  name: string;
  role: NodeStatus['role'];
  options: FrontOptions & { backbone?: ListenAddress | undefined };
  directory: string;
  certificateNames: readonly string[];
  place(path: ValuePath): string;
}

/** An open listener of HTTP/1.1 without TLS */
interface Plain {
  tcp: TcpListener;
  address: ListenAddress;
}

/** The side of a node that faces clients: its certificate, listeners and log, and its orderly shutdown */
export class Front {
  readonly #life: NodeLife;
  readonly #options: FrontNodeOptions;
  readonly #secrets: SecretsSource | undefined;
  readonly #balancers: Networks | undefined;
  readonly #proxies: TrustedProxies | undefined;
  readonly #clients: Place<ClientPort>;
  readonly #plain: Place<Plain>;
  #configuration: FrontConfiguration;
  #certificate: CertificateSource;
  #native: NativeModule | undefined;
  #service!: Service;

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
    this.#certificate = certificate;
    this.#secrets = secrets;
    const { proxy_protocol: balancers, trusted_proxies: proxies } = configuration.options;
    this.#balancers = balancers && new Networks(balancers);
    this.#proxies = proxies && new TrustedProxies(proxies);
    this.#clients = new Place((port, drainMs) => port.close(drainMs));
    this.#plain = new Place(({ tcp }, drainMs) => tcp.close(drainMs));
    this.shutdown.add(() => options.kept?.close());
    this.shutdown.add(() => this.#certificate.close());
    this.shutdown.add(() => this.#secrets?.close());
    this.shutdown.add(() => Promise.all([this.#clients.close(0), this.#plain.close(0)]));
  }

  /** Opens log and certificate, without listening yet. @throws UserError */
  static async open(configuration: FrontConfiguration, options: FrontNodeOptions): Promise<Front> {
    const { secrets: file } = configuration.options;
    const life = new NodeLife(configuration, options);
    let certificate: CertificateSource | undefined;
    try {
      const { log } = life;
      const { shared } = options;
      certificate = await openCertificate(configuration, log, shared);
      const secrets = shared?.secrets ?? (file === undefined ? undefined : await SecretsSource.open({ file, log }));
      return new Front(configuration, options, life, certificate, secrets);
    } catch (error) {
      certificate?.close();
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

  /** Number of the thread, where the node has several */
  get worker(): number | undefined {
    return this.#options.worker;
  }

  get certificate(): CertificateSource {
    return this.#certificate;
  }

  /** Tells of the registry, where the configuration has one. */
  get registry(): (() => RegistryStatus) | undefined {
    const { fleet } = this.#options;
    return fleet && (() => fleet.status());
  }

  /** Address of HTTP/3 (UDP), and of HTTP/2 and HTTP/1.1 (TCP) */
  get address(): ListenAddresses {
    return this.#port.address;
  }

  /** Address of HTTP/1.1 without TLS, if configured */
  get httpAddress(): ListenAddress | undefined {
    return this.#plain.current?.address;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.#life.adminAddress;
  }

  /** Sockets that the node does not open itself */
  get sockets(): GivenSockets | undefined {
    const { kept, shared } = this.#options;
    return kept ?? shared;
  }

  /** Returns the sockets that another process can take over after this one has ended, by name. */
  namedSockets(): [name: string, descriptor: number][] {
    return this.#options.kept?.named(this.#configuration.name) ?? [];
  }

  /** Address where clients find this node, if configured */
  get publicUrl(): string | undefined {
    return publicUrlOf(this.#configuration.options);
  }

  /** Port of `listen`, as clients see it */
  get publicPort(): number {
    return this.#configuration.options.public_url?.port ?? this.address.port;
  }

  /** What answers the clients of the node, once it listens */
  get service(): Service {
    return this.#service;
  }

  get quic(): Http3Server | undefined {
    return this.#clients.current?.quic;
  }

  /** Whether the node stops, and waits for what is in flight */
  get draining(): boolean {
    return this.#life.state === 'draining';
  }

  /** Number of requests in flight */
  get requestsActive(): number {
    const { handler, proxied } = this.#service;
    return handler.active + (proxied?.active ?? 0);
  }

  /** Returns how often each bound was reached that protects clients from each other. */
  limitHits(): Record<string, number> {
    const hits: Record<string, number> = {
      ...this.quic?.counters().limitHits,
      ...this.#service.channelLimitHits?.(),
    };
    for (const tcp of this.#tcp) {
      for (const [limit, count] of Object.entries(tcp.limitHits)) hits[limit] = (hits[limit] ?? 0) + count;
    }
    return hits;
  }

  get tcpConnections(): number {
    return this.#tcp.reduce((sum, { connections }) => sum + connections, 0);
  }

  /**
   * Opens all listeners. `shutdown` stops those that were opened before a failure. @throws UserError when a port is not
   * available
   */
  async listen(service: Service): Promise<void> {
    this.#service = service;
    this.#native = await (this.#options.loadNative ?? loadNativeModule)();
    const prepared = await this.#prepareListeners(this.#configuration, this.#certificate);
    prepared.commit();
    this.#watchFiles();
  }

  /** Marks the node as serving. */
  serve(warnings: readonly string[]): void {
    this.#life.serve(this.#listen(), warnings);
  }

  /**
   * Opens what another configuration adds: its certificate, and its listeners. What stays at its address stays open, with its
   * connections. @throws UserError
   */
  async prepare(configuration: FrontConfiguration, signal?: AbortSignal): Promise<Prepared> {
    const before = this.#configuration;
    const stays = canonicalText(certificateOf(before)) === canonicalText(certificateOf(configuration));
    if (stays) await this.#certificate.refresh();
    const certificate = stays
      ? this.#certificate
      : await openCertificate(configuration, this.log, this.#options.shared);
    try {
      const { kept } = this.#options;
      const steps = [
        ...(kept ? [() => kept.prepare(configuration, before.options.limits.drain)] : []),
        () => this.#prepareListeners(configuration, certificate),
        () => Promise.resolve(this.#prepareCertificate(certificate)),
      ];
      const listeners = await prepareAll(steps, signal);
      return {
        ...listeners,
        commit: () => {
          this.#configuration = configuration;
          listeners.commit();
          this.#watchFiles();
        },
        abandon: async () => {
          await listeners.abandon();
          if (!stays) certificate.close();
        },
      };
    } catch (error) {
      if (!stays) certificate.close();
      throw error;
    }
  }

  status(): FrontStatus {
    const { options } = this.#configuration;
    const { certificate, quic, requestsActive } = this;
    const { handler, proxied } = this.#service;
    return {
      ...this.#life.status(),
      listen: this.#listen(),
      ...(this.publicUrl === undefined ? {} : { publicUrl: this.publicUrl }),
      alpn: options.alpn,
      certificate: {
        development: certificate.isDevelopment,
        sha256: certificate.hash,
        expiry: certificate.expiry.toISOString(),
      },
      requestsActive,
      requestsTotal: handler.total + (proxied?.total ?? 0),
      tcpConnections: this.tcpConnections,
      limitHits: this.limitHits(),
      webTransportSessions: this.#clients.all.reduce((sum, { openSessions }) => sum + openSessions, 0),
      connections: this.#clients.all.flatMap((port) => port.quic?.connections() ?? []),
      ...(quic ? { transport: quic.counters() } : {}),
    };
  }

  /** Accepts no more TCP connections. Those that are open go on as before. */
  stopAccepting(): void {
    for (const tcp of this.#tcp) tcp.stopAccepting();
  }

  /** Refuses new work, waits up to `drainMs` for requests in flight, then stops. */
  close(drainMs = this.#configuration.options.limits.drain): Promise<void> {
    return this.#life.close(async () => {
      this.log.info({ requests: this.#service.handler.active }, 'draining');
      this.#options.kept?.stopListening();
      this.#service.drain?.();
      await Promise.all([this.#clients.close(drainMs), this.#plain.close(drainMs)]);
    });
  }

  get #port(): ClientPort {
    const { current } = this.#clients;
    if (!current) throw new Error('the node does not listen');
    return current;
  }

  get #tcp(): TcpListener[] {
    return [...this.#clients.all.flatMap(({ tcp }) => tcp), ...this.#plain.all.map(({ tcp }) => tcp)];
  }

  /** Opens the listeners whose addresses differ from those that are open. */
  #prepareListeners(configuration: FrontConfiguration, certificate: CertificateSource): Promise<Prepared> {
    const { options, place } = configuration;
    const parts = this.#parts(configuration, certificate);
    const { drain } = this.#configuration.options.limits;
    return prepareAll([
      () => this.#clients.prepare(options.listen, () => ClientPort.open(parts), drain),
      () => this.#plain.prepare(options.http, (address) => openPlain(parts, address), drain),
      () => this.#life.prepareAdmin({ admin: options.admin, place }, this.#service),
    ]);
  }

  #parts({ options, place }: FrontConfiguration, certificate: CertificateSource): ListenerParts {
    return {
      service: this.#service,
      native: this.#native,
      options,
      certificate,
      secrets: this.#secrets,
      balancers: this.#balancers,
      proxies: this.#proxies,
      keyLog: this.#options.keyLog,
      shared: this.#options.shared,
      sockets: this.sockets,
      altSvc: () => this.#altSvc(),
      place,
      log: this.log,
    };
  }

  /** Installs another certificate in the listeners that stay, which may refuse it. */
  #prepareCertificate(certificate: CertificateSource): Prepared {
    const before = this.#certificate;
    if (certificate === before) return { warnings: [], commit: () => undefined, abandon: () => Promise.resolve() };
    this.#port.install(certificate, before);
    return {
      warnings: [],
      commit: () => {
        this.#certificate = certificate;
        before.close();
      },
      abandon: () => {
        this.#port.install(before, before);
        return Promise.resolve();
      },
    };
  }

  /** Makes the listeners follow the files of certificate and secrets. */
  #watchFiles(): void {
    const secrets = this.#secrets;
    const { minimumTls } = this.#certificate;
    this.#certificate.install = (pair) => this.#port.install({ pair, minimumTls }, this.#certificate);
    if (!secrets) return;
    secrets.install = () => this.#port.installSecrets(secrets);
    secrets.install();
  }

  /** Returns the addresses in the form that configurations use. */
  #listen(): string {
    return eachAddress(this.address).map(formatAddress).join(', ');
  }

  /** Offers HTTP/3 for the same origin at the port that clients see, while the QUIC listener serves (RFC 7838). */
  #altSvc(): string | undefined {
    const isOffered = this.quic && this.#life.state === 'serving' && this.#configuration.options.alpn.includes('h3');
    return isOffered ? `h3=":${this.publicPort}"; ma=86400` : undefined;
  }
}

async function openPlain(parts: ListenerParts, http: ListenAddress): Promise<Plain> {
  const tcp = createTcp(parts, http, { secure: false, socket: parts.sockets?.takeTcp('http')[0] });
  const address = await tcp.listen().catch((error: unknown) => {
    throw listenError(error, http, 'TCP', parts.place(['http']));
  });
  return { tcp, address };
}

async function openCertificate(
  configuration: FrontConfiguration,
  log: Logger,
  shared: SharedParts | undefined,
): Promise<CertificateSource> {
  const options = { ...certificateOf(configuration), log };
  return shared ? CertificateSource.given(options, shared.certificate) : CertificateSource.open(options);
}

/** Returns where clients find a node, if that is configured. */
export function publicUrlOf({ public_url: url }: Pick<FrontOptions, 'public_url'>): string | undefined {
  return url && new URL(`https://${url.host}:${url.port}`).href;
}

type CertifiedConfiguration = Pick<FrontConfiguration, 'directory' | 'certificateNames'> & {
  options: Pick<FrontOptions, 'tls'>;
};

/** What the certificate of a configuration depends on */
export function certificateOf({ options: { tls }, directory, certificateNames }: CertifiedConfiguration) {
  return { tls, directory, names: tls === 'dev' ? certificateNames : [] };
}
