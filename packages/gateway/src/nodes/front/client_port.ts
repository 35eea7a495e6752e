import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { CertificatePair, Http3Server, NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage, systemErrorCode, UserError } from '../../errors/user_error.js';
import type { TrustedProxies } from '../../http/trusted_proxies.js';
import { createQuicListener } from '../../listeners/quic_listener.js';
import { TcpListener, type ListeningSocket } from '../../listeners/tcp_listener.js';
import type { FrontOptions } from '../../schema/front.js';
import type { CertificateSource } from '../../tls/certificate_source.js';
import { listenerName, listenerScope, resetSecret } from '../../tls/reset_secret.js';
import type { SecretsSource } from '../../tls/secrets_source.js';
import type { ValuePath } from '../../values/document.js';
import { formatAddress, listenError } from '../../values/listen_error.js';
import type { Networks } from '../../values/networks.js';
import { eachAddress, type ListenAddress, type ListenAddresses } from '../../values/scalars.js';
import type { Service, Sessions } from './service.js';
import type { GivenSockets } from './given_sockets.js';
import type { SharedParts } from './shared_parts.js';

/** Number of attempts to find a free port, when the configuration lets the system choose */
const portAttempts = 8;

/** Time in milliseconds for sessions without requests in flight to end by themselves */
const sessionGraceMs = 1_000;

/** What the listeners of a node have in common */
export interface ListenerParts {
  service: Service;
  /** Absent where only TCP is served */
  native: NativeModule | undefined;
  options: FrontOptions;
  certificate: CertificateSource;
  secrets: SecretsSource | undefined;
  balancers: Networks | undefined;
  proxies: TrustedProxies | undefined;
  keyLog: string | undefined;
  /** Present where the node is one of several alike in this process */
  shared: SharedParts | undefined;
  /** Default: the listeners open their own. */
  sockets: GivenSockets | undefined;
  /** Returns the value of Alt-Svc (RFC 7838) once it is known. */
  altSvc: () => string | undefined;
  place(path: ValuePath): string;
  log: Logger;
}

/** A certificate, and the oldest version of TLS that goes with it over TCP */
export type InstalledCertificate = Pick<CertificateSource, 'pair' | 'minimumTls'>;

export interface TcpOptions {
  /** Whether it speaks TLS */
  secure: boolean;
  /** Default: the listener opens one. */
  socket: ListeningSocket | undefined;
}

/** Creates a listener of TCP. */
export function createTcp(parts: ListenerParts, address: ListenAddress, { secure, socket }: TcpOptions): TcpListener {
  const { service, options, certificate, balancers, proxies, shared, altSvc } = parts;
  const { limits } = options;
  // With port 0, addresses of both uses may be the same text.
  const name = `tcp ${secure ? 'listen' : 'http'} ${formatAddress(address)}`;
  return new TcpListener({
    address,
    socket,
    handler: service.handler,
    takers: service.takers,
    limits,
    ...(shared && { workers: shared.worker.count, counts: shared.counts(name) }),
    balancers,
    proxies,
    ...(secure && { certificate: certificate.pair, minimumTls: certificate.minimumTls, altSvc }),
  });
}

/** The listeners at `listen`: of TCP at each address, and one of QUIC, all with the same port */
export class ClientPort {
  readonly #parts: ListenerParts;
  #tcp: TcpListener[] = [];
  #quic: Http3Server | undefined;
  #sessions: Sessions | undefined;
  #address!: ListenAddresses;

  private constructor(parts: ListenerParts) {
    this.#parts = parts;
  }

  /** Opens all listeners, or none. @throws UserError when a port is not available */
  static async open(parts: ListenerParts): Promise<ClientPort> {
    const port = new ClientPort(parts);
    try {
      await port.#listen();
      return port;
    } catch (error) {
      await port.close(0);
      throw error;
    }
  }

  get address(): ListenAddresses {
    return this.#address;
  }

  get quic(): Http3Server | undefined {
    return this.#quic;
  }

  get tcp(): readonly TcpListener[] {
    return this.#tcp;
  }

  get openSessions(): number {
    return this.#sessions?.openSessions ?? 0;
  }

  /** Installs a certificate in all listeners, or puts the one before back into all of them. */
  install(certificate: InstalledCertificate, before: InstalledCertificate): void {
    const listeners = [...this.#tcp, ...(this.#quic ? [this.#quic] : [])];
    const put = ({ pair, minimumTls }: InstalledCertificate, listener: (typeof listeners)[number]): void =>
      listener.updateCertificate(pair, minimumTls);
    const updated: typeof listeners = [];
    try {
      for (const listener of listeners) {
        put(certificate, listener);
        updated.push(listener);
      }
    } catch (error) {
      for (const listener of updated) put(before, listener);
      throw error;
    }
    if (this.#parts.secrets?.ofTickets !== false) this.#quic?.updateResetSecret(this.#resetSecret(certificate.pair));
  }

  /** Makes all listeners use the secrets and keys as they are now. */
  installSecrets({ secrets, ofTickets, ticketKeys }: SecretsSource): void {
    if (!ofTickets) this.#quic?.updateSecrets(secrets);
    for (const tcp of this.#tcp) tcp.updateTicketKeys(ticketKeys);
  }

  /** Refuses new connections, and waits up to `drainMs` for requests in flight. */
  async close(drainMs: number): Promise<void> {
    await Promise.all([...this.#tcp.map((tcp) => tcp.close(drainMs)), this.#closeQuic(drainMs)]);
  }

  async #listen(): Promise<void> {
    const { service, native, options } = this.#parts;
    await this.#listenOnBoth(native);
    if (this.#quic && options.alpn.includes('h3')) this.#sessions = await service.acceptSessions(this.#quic);
  }

  /**
   * Listens on TCP and UDP with the same port. With port 0, the system chooses a port for TCP at the first address,
   * which all others must use.
   */
  async #listenOnBoth(native: NativeModule | undefined): Promise<void> {
    const { listen } = this.#parts.options;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#listenTcp();
        if (native) this.#quic = await this.#listenQuic(native);
        return;
      } catch (error) {
        await Promise.all(this.#tcp.map((tcp) => tcp.close(0)));
        this.#tcp = [];
        const mayRetry = listen.port === 0 && attempt < portAttempts && systemErrorCode(error) === 'PORT_TAKEN';
        if (!mayRetry) throw error;
      }
    }
  }

  async #listenTcp(): Promise<void> {
    const { options, sockets } = this.#parts;
    const { listen } = options;
    const given = sockets?.takeTcp('listen');
    let { port } = listen;
    for (const [index, { address }] of eachAddress(listen).entries()) {
      const wanted = { address, port };
      const tcp = createTcp(this.#parts, wanted, { secure: true, socket: given?.[index] });
      ({ port } = await tcp.listen().catch((error: unknown) => this.#refuse(error, wanted, 'TCP')));
      this.#tcp.push(tcp);
    }
    this.#address = { ...listen, port };
  }

  async #listenQuic(module: NativeModule): Promise<Http3Server> {
    const { service, options, certificate, secrets, proxies, keyLog, sockets, log } = this.#parts;
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
      certificate: certificate.pair,
      secrets: secrets?.ofTickets === false ? secrets.secrets : undefined,
      ticketSecrets: secrets?.secrets,
      shared: sockets?.udp('listen'),
      resetSecret: this.#resetSecret(certificate.pair),
      resetScope: this.#resetScope(),
      connectionIds: options.connection_ids,
      handler: service.handler,
      connects: service.connects,
      initialStreamWindow: service.initialStreamWindow,
      headersFor: (connection) => service.headersFor?.(connection) ?? {},
      limits: options.limits,
      proxies,
      ...(options.qlog === undefined ? {} : { qlog: options.qlog }),
      ...(keyLog === undefined ? {} : { keyLog }),
      onError: (error) => log.error({ err: error }, 'transport error'),
    });
    service.attach?.(server);
    await server.listen().catch((error: unknown) => {
      const { address = this.#address.address } = error as { address?: string };
      this.#refuse(error, { address, port: this.#address.port }, 'UDP');
    });
    return server;
  }

  /** Outlives the process where no file of secrets does. */
  #resetSecret(pair: CertificatePair): Buffer {
    return resetSecret(pair, hostname(), this.#address);
  }

  /** Behind balancers, the server id names the machine. */
  #resetScope(): string {
    const isNamed = this.#parts.options.connection_ids !== undefined;
    return isNamed ? listenerScope(eachAddress(this.#address)) : listenerName(hostname(), this.#address);
  }

  #refuse(error: unknown, address: ListenAddress, protocol: 'TCP' | 'UDP'): never {
    throw listenError(error, address, protocol, this.#parts.place(['listen']));
  }

  /**
   * Closes the QUIC listener. Sessions live as long as their pages, so they are told to end, and closed once no request
   * is in flight.
   */
  async #closeQuic(drainMs: number): Promise<void> {
    const deadline = performance.now() + drainMs;
    const sessionDeadline = performance.now() + Math.min(drainMs, sessionGraceMs);
    const sessions = this.#sessions;
    const { service, log } = this.#parts;
    sessions?.drain();
    const closed = this.#quic?.close(drainMs);
    while (sessions && sessions.openSessions > 0) {
      const now = performance.now();
      if (now >= deadline || (now >= sessionDeadline && service.handler.active === 0)) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    sessions?.close();
    await closed?.catch((error: unknown) =>
      log.warn({ error: errorMessage(error) }, 'transport did not close in order'),
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
