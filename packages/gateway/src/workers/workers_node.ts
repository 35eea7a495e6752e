import { randomBytes } from 'node:crypto';
import { MessageChannel } from 'node:worker_threads';
import { createSecureContext } from 'node:tls';
import type { CertificatePair } from '@sheaf/native';
import type { Logger } from 'pino';
import { certificateOf, publicUrlOf } from '../nodes/front/front.js';
import { entrancesOf, trialOf } from '../nodes/front/front_node.js';
import { processIdBytes } from '../multi_end/backbone/run.js';
import { Forwarding } from '../nodes/fleet/forwarding.js';
import { AdminSockets } from '../nodes/life/admin_sockets.js';
import { NodeLife, type AdminSocket } from '../nodes/life/node_life.js';
import { prepareAll, type Prepared } from '../nodes/life/reload.js';
import type { Entrance, NodeLegacy, NodeOptions, RunningNode } from '../nodes/life/running_node.js';
import type { AdminSources } from '../observability/admin_server.js';
import type { FrontNodeStatus } from '../observability/status.js';
import { streamOf } from '../observability/log.js';
import { listeningOf } from '../schema/listening.js';
import type { LoadedNode, LoadedServer, ServerOptions } from '../schema/loaded.js';
import { workerCount } from '../schema/workers.js';
import { ChannelAway } from '../channels/channel_away.js';
import { channelWorker } from '../channels/channel_worker.js';
import type { Published, Title } from '../channels/publication.js';
import { CertificateSource } from '../tls/certificate_source.js';
import { SecretsSource } from '../tls/secrets_source.js';
import type { Share } from '../upgrade/descriptor_table.js';
import type { TakenSockets } from '../upgrade/taken_sockets.js';
import { canonicalText } from '../values/canonical.js';
import { formatAddress } from '../values/listen_error.js';
import type { RunningAddresses, SentNodes } from '../values/running_addresses.js';
import { eachAddress, type ListenAddress, type ListenAddresses } from '../values/scalars.js';
import { idleStatus } from './idle_status.js';
import { fixedOf, refuseDifferent } from './inherited_parts.js';
import { mergeStatus, type OwnStatus } from './merged_status.js';
import { MergedMetrics } from './merged_metrics.js';
import { encodeSecret, openSecrets } from './node_secrets.js';
import { NodeSockets, type OpenedSockets } from './node_sockets.js';
import { sendBytes } from './relayed_bytes.js';
import { WorkerPool } from './worker_pool.js';
import { WorkerThread } from './worker_thread.js';

/** Time in milliseconds between looks for connections, in a process from which another one took over */
const retirementPollMs = 500;

export interface WorkersNodeOptions extends NodeOptions {
  /** Addresses of the other nodes in this process */
  running: RunningAddresses;
  /** File of the code of workers */
  entry: URL;
  /** Sockets that the service manager kept for the node */
  stored: TakenSockets | undefined;
}

/** What the main thread reads for all workers */
interface Files {
  certificate: CertificateSource;
  secrets: SecretsSource;
}

/** A node whose clients are served by several threads. The main thread has what they share. */
export class WorkersNode implements RunningNode {
  /** The threads that serve clients */
  readonly pool: WorkerPool;
  readonly #options: WorkersNodeOptions;
  readonly #life: NodeLife;
  readonly #sockets: NodeSockets;
  readonly #taken: TakenSockets | undefined;
  readonly #metrics: MergedMetrics;
  readonly #secrets: SecretsSource;
  readonly #process = randomBytes(processIdBytes);
  /** Backends that the operator drains */
  readonly #drained: Set<string>;
  #forwarding: Forwarding | undefined;
  #certificate: CertificateSource;
  #loaded: LoadedServer;
  #warnings: readonly string[] = [];
  /** Whether connections wait in the sockets, since the process before has not ended to serve yet */
  #waits: boolean;

  private constructor(
    loaded: LoadedServer,
    options: WorkersNodeOptions,
    { taken, life, files }: { taken: TakenSockets | undefined; life: NodeLife; files: Files },
  ) {
    this.#loaded = loaded;
    this.#options = options;
    const { name } = loaded;
    this.#waits = options.succession !== undefined;
    this.#taken = taken;
    this.#sockets = new NodeSockets();
    this.#drained = new Set(options.succession?.nodeOf(name)?.drained);
    this.#life = life;
    this.#certificate = files.certificate;
    this.#secrets = files.secrets;
    this.pool = new WorkerPool({
      workers: workerCount(loaded.node),
      open: (index) => this.#open(index),
      log: this.log,
    });
    this.#metrics = new MergedMetrics({
      restarts: () => this.pool.restarts,
      watchdog: () => this.pool.watchdog,
      datagrams: () => this.#sockets.counts(),
      forwarded: () => this.#forwarding?.counts(),
      ...(options.fleet && { registry: () => options.fleet!.status() }),
    });
    this.pool.onLost = ({ metrics }) => {
      const onFailed = (err: unknown): void => this.log.error({ err }, 'the counts of a worker are lost');
      this.#metrics.retire(metrics).catch(onFailed);
    };
    this.#followFiles();
    const unwatch = options.running.watch((name, address) => this.pool.tell({ notice: 'running', name, address }));
    life.shutdown.add(unwatch);
    const { fleet } = options;
    if (fleet) {
      const tell = (): void => this.pool.tell({ notice: 'elsewhere', nodes: this.#elsewhere() });
      life.shutdown.add(fleet.view.onChange(tell));
    }
    life.shutdown.add(() => this.#certificate.close());
    life.shutdown.add(() => this.#secrets.close());
    life.shutdown.add(() => this.#sockets.close());
    life.shutdown.add(() => this.pool.stop(0));
  }

  /**
   * Opens all sockets, and serves operators. A socket of a backend that sends from an address here has to be opened later: the
   * system counts the sockets of a port in this order. @throws UserError
   */
  static async open(loaded: LoadedServer, options: WorkersNodeOptions): Promise<WorkersNode> {
    const { name, role, node, place } = loaded;
    const inherited = options.succession?.nodeOf(name);
    const taken = options.succession?.socketsOf(name) ?? options.stored;
    const admin = new AdminSockets(taken);
    const openAdminSocket = (wanted: ListenAddress): AdminSocket => admin.open(wanted);
    const life = new NodeLife({ name, role, options: node, place }, { ...options, openAdminSocket });
    try {
      if (inherited) refuseDifferent(loaded, inherited);
      const secrets = await openSecrets(loaded, life.log, inherited);
      const certificate = await openCertificate(loaded, life.log);
      const opened = new WorkersNode(loaded, options, { taken, life, files: { certificate, secrets } });
      await opened.#listen();
      if (options.succession) admin.wait({ admin: node.admin, place });
      return opened;
    } catch (error) {
      await life.shutdown.run();
      throw error;
    }
  }

  get name(): string {
    return this.#loaded.name;
  }

  get role(): LoadedServer['role'] {
    return this.#loaded.role;
  }

  get log(): Logger {
    return this.#life.log;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  get address(): ListenAddresses {
    return this.#sockets.address;
  }

  get httpAddress(): ListenAddress | undefined {
    return this.#sockets.httpAddress;
  }

  get backboneAddress(): ListenAddress | undefined {
    return this.#sockets.backboneAddress;
  }

  get forwardingAddress(): ListenAddress | undefined {
    return this.#forwarding?.address;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.#life.adminAddress;
  }

  /** Whether the node stops, and waits for what is in flight */
  get draining(): boolean {
    return this.#life.state === 'draining';
  }

  get publicUrl(): string | undefined {
    const node: ServerOptions = this.#loaded.node;
    return publicUrlOf(node);
  }

  get certificate(): CertificateSource {
    return this.#certificate;
  }

  get entrances(): readonly Entrance[] {
    return entrancesOf(this);
  }

  get trial(): string {
    return trialOf(this);
  }

  /** Starts the workers. @throws UserError when none of them can serve */
  async start(): Promise<void> {
    this.#warnings = await this.pool.start();
    // The process before serves well without this one.
    if (this.#waits && !this.pool.ready) throw new Error('a worker has failed; the log has more');
    if (this.#waits) return;
    // A worker passes on what waited in its sockets, also to the one that starts last.
    this.#sockets.read();
    this.#life.serve(this.#addresses(), this.#warnings);
  }

  /** Returns what all workers did, as of the latest `refresh`. */
  status(): FrontNodeStatus {
    const [first, ...others] = this.pool.reports.map(({ status }) => status);
    if (first) return mergeStatus([first, ...others], this.#ownStatus());
    const { isDevelopment: development, hash: sha256, expiry } = this.#certificate;
    const certificate = { development, sha256, expiry: expiry.toISOString() };
    return idleStatus(this.#loaded, this.#ownStatus(), { listen: this.#addresses(), certificate });
  }

  /** Asks the workers what they did. */
  refresh(): Promise<void> {
    return this.pool.refresh();
  }

  /** Makes all workers ready for another configuration, or none. @throws UserError */
  async prepare(loaded: LoadedNode, signal?: AbortSignal): Promise<Prepared> {
    if (loaded.role === 'tunnel' || loaded.role !== this.role) throw new Error(`a ${loaded.role} is no ${this.role}`);
    // A file that nobody brings holds up no worker.
    const certificate = await this.#certificateFor(loaded);
    const leave = await this.pool.turn();
    const giveBack = (): void => {
      if (certificate !== this.#certificate) certificate.close();
      leave();
    };
    try {
      const prepared = await this.#prepareParts(loaded, certificate, signal);
      return {
        ...prepared,
        commit: () => {
          this.#use(loaded, certificate);
          prepared.commit();
          leave();
        },
        abandon: async () => {
          await prepared.abandon();
          giveBack();
        },
      };
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  settled(): Promise<void> {
    return this.pool.settled();
  }

  /** Serves by the sockets that were taken over. */
  async begin(): Promise<void> {
    this.#waits = false;
    this.#sockets.read();
    this.pool.tell({ notice: 'begin' });
    await this.#admit();
    this.#life.serve(this.#addresses(), this.#warnings);
  }

  sockets(): [name: string, descriptor: number][] {
    return this.#sockets.named(this.name);
  }

  /** Offers sockets and secrets to a process that takes over. @throws an error of the system */
  bequeath(share: Share): NodeLegacy {
    const { name, node } = this.#loaded;
    const { sockets, commit, abandon } = this.#sockets.bequeath(share);
    const admin = this.#life.bequeathAdmin(share);
    return {
      inheritance: {
        name,
        fixed: fixedOf(this.#loaded),
        sockets,
        ...(admin && { admin }),
        drained: [...this.#drained],
        ...(node.secrets === undefined && { secrets: this.#secrets.secrets.map(encodeSecret) }),
      },
      commit: (took) => {
        this.pool.retire();
        commit(took);
        // Only now: callers that are told so find the other process.
        this.pool.tell({ notice: 'stopAccepting' });
        // The other process opens the same address.
        this.#forwarding?.close();
        void this.#life.leaveAdmin();
      },
      abandon,
    };
  }

  /** Closes the node once its connections have ended, or `limits.upgrade` is over. */
  async retire(): Promise<void> {
    const deadline = performance.now() + this.#loaded.node.limits.upgrade;
    while (this.#life.state === 'serving' && performance.now() < deadline && (await this.#isBusy()))
      await new Promise((resolve) => setTimeout(resolve, retirementPollMs));
    await this.close();
  }

  /** Makes all workers refuse new work, waits up to `drainMs` for requests in flight, then stops. */
  close(drainMs = this.#loaded.node.limits.drain): Promise<void> {
    return this.#life.close(async () => {
      this.log.info('draining');
      this.#sockets.stopListening();
      await this.pool.stop(drainMs ?? this.#loaded.node.limits.drain);
    });
  }

  async #listen(): Promise<void> {
    const preparation = { drainMs: 0, taken: this.#taken, waits: true };
    (await this.#sockets.prepare(listeningOf(this.#loaded), preparation)).commit();
    if (!this.#waits) await this.#admit();
  }

  /** Reads what other machines and operators send. */
  async #admit(): Promise<void> {
    this.#forward();
    await this.#life.listenAdmin(this.#sources);
  }

  async #isBusy(): Promise<boolean> {
    await this.refresh();
    const { requestsActive, tcpConnections, transport, ...status } = this.status();
    const guests = status.role === 'backend' ? status.guests : 0;
    return requestsActive + tcpConnections + guests + (transport?.connectionsOpenGauge ?? 0) > 0;
  }

  #forward(): void {
    const { fleet } = this.#options;
    const { group } = this.#sockets;
    if (this.#loaded.role !== 'gateway' || !fleet || !group) return;
    const forwarding = Forwarding.open({ loaded: this.#loaded, group, secrets: this.#secrets, view: fleet.view });
    this.#forwarding = forwarding;
    this.#life.shutdown.add(() => forwarding?.close());
  }

  #open(index: number): WorkerThread {
    const { entry, keyLog, running } = this.#options;
    const { name, source, node } = this.#loaded;
    const { secrets, ofTickets } = this.#secrets;
    const thread = new WorkerThread({
      entry,
      start: {
        name,
        process: this.#process,
        index,
        count: workerCount(node),
        source,
        certificate: this.#certificate.pair,
        sockets: this.#sockets.current.of(index),
        secrets: { secrets, ofTickets },
        running: running.entries(),
        elsewhere: this.#elsewhere(),
        keyLog,
        waits: this.#waits,
      },
      onLog: (lines) => streamOf(this.log).write(lines),
    });
    for (const backend of this.#drained) thread.tell({ notice: 'drain', backend, drains: true });
    return thread;
  }

  /** Returns what the registry knows of nodes that run elsewhere. */
  #elsewhere(): SentNodes {
    const nodes = this.#options.fleet?.view.nodes ?? [];
    return nodes.map(({ name, listen, backbone, state, draining }) => ({ name, listen, backbone, state, draining }));
  }

  /** Tells the workers what is new in the files. */
  #followFiles(): void {
    this.#certificate.install = (pair) => {
      checkPair(pair);
      this.pool.tell({ notice: 'certificate', pair });
    };
    this.#secrets.install = () => {
      this.#forwarding?.useSecrets();
      this.pool.tell({ notice: 'secrets', secrets: this.#secrets.secrets });
    };
  }

  async #certificateFor(loaded: LoadedServer): Promise<CertificateSource> {
    if (canonicalText(certifiedBy(loaded)) !== canonicalText(certifiedBy(this.#loaded)))
      return openCertificate(loaded, this.log);
    await this.#certificate.refresh();
    return this.#certificate;
  }

  #prepareParts(
    loaded: LoadedServer,
    certificate: CertificateSource,
    signal: AbortSignal | undefined,
  ): Promise<Prepared> {
    const { node, place, source } = loaded;
    let opened: OpenedSockets;
    const steps = [
      async () => {
        const { drain: drainMs } = this.#loaded.node.limits;
        const sockets = await this.#sockets.prepare(listeningOf(loaded), { drainMs });
        ({ opened } = sockets);
        return sockets;
      },
      () => this.#life.prepareAdmin({ admin: node.admin, place }, this.#sources),
      () => this.pool.prepare((index) => ({ source, certificate: certificate.pair, sockets: opened.of(index) })),
    ];
    return prepareAll(steps, signal);
  }

  #use(loaded: LoadedServer, certificate: CertificateSource): void {
    this.#loaded = loaded;
    if (certificate === this.#certificate) return;
    this.#certificate.close();
    this.#certificate = certificate;
    this.#followFiles();
  }

  get #sources(): AdminSources {
    return {
      registry: {
        contentType: this.#metrics.contentType,
        metrics: () => this.#metrics.page(this.pool.reports.map(({ metrics }) => metrics)),
      },
      status: () => this.status(),
      refresh: () => this.refresh(),
      drainBackend: (name, drains) => this.#drainBackend(name, drains),
      publish: (channel, bytes, title) => this.#publish(channel, bytes, title),
    };
  }

  #publish(channel: string, bytes: AsyncIterable<Buffer>, title: Title): Promise<Published> | undefined {
    if (this.#loaded.role !== 'gateway') return undefined;
    const { channels, routes } = this.#loaded.node;
    if (!Object.hasOwn(channels, channel) || routes.some(({ media }) => media?.channel === channel)) return undefined;
    const home = this.pool.serving.find(({ index }) => index === channelWorker);
    if (!home) return Promise.reject(new ChannelAway());
    const { port1, port2 } = new MessageChannel();
    sendBytes(port1, bytes);
    const given = { channel, title, port: port2 };
    return home.thread.ask('publish', given, [port2]).finally(() => port1.close());
  }

  #drainBackend(name: string, drains: boolean): boolean {
    if (this.#loaded.role !== 'gateway' || !this.#loaded.backends.some((backend) => backend.name === name))
      return false;
    if (drains) this.#drained.add(name);
    else this.#drained.delete(name);
    this.pool.tell({ notice: 'drain', backend: name, drains });
    return true;
  }

  #ownStatus(): OwnStatus {
    const life = this.#life.status();
    const state = life.state === 'serving' && !this.pool.ready ? 'starting' : life.state;
    return {
      life: { ...life, state },
      workers: this.pool.status(this.#sockets.counts()),
      steering: this.#sockets.steering,
      ...(this.#forwarding && { forwarding: this.#forwarding.status() }),
    };
  }

  #addresses(): string {
    return eachAddress(this.address).map(formatAddress).join(', ');
  }
}

/** What the certificate of a node depends on */
function certifiedBy({ node, directory, certificateNames }: LoadedServer): ReturnType<typeof certificateOf> {
  return certificateOf({ options: node, directory, certificateNames });
}

function openCertificate(loaded: LoadedServer, log: Logger): Promise<CertificateSource> {
  return CertificateSource.open({ ...certifiedBy(loaded), log });
}

/** Refuses what workers would refuse. Throws when the two do not belong together. */
function checkPair({ certificate, privateKey }: CertificatePair): void {
  createSecureContext({ cert: certificate, key: privateKey });
}
