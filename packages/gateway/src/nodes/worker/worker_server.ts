import { duplicateDescriptor, openSharedCounts } from '@sheaf/native';
import { parseConfiguration } from '../../configuration/load.js';
import type { ConfigurationSource, LoadedServer } from '../../schema/loaded.js';
import { SecretsSource } from '../../tls/secrets_source.js';
import { RunningAddresses, type SentNodes } from '../../values/running_addresses.js';
import type { SharedUdp } from '../../values/shared_udp.js';
import { WorkerLinks } from '../../worker_links/worker_links.js';
import type { Published } from '../../channels/publication.js';
import type {
  PublishedBytes,
  SentConfiguration,
  WorkerNotice,
  WorkerReport,
  WorkerStart,
} from '../../workers/messages.js';
import { receiveBytes } from '../../workers/relayed_bytes.js';
import { shareOf } from '../../workers/worker_share.js';
import type { Backend } from '../backend.js';
import type { Edge } from '../edge/edge.js';
import type { SharedParts } from '../front/shared_parts.js';
import type { Gateway } from '../gateway.js';
import type { Prepared } from '../life/reload.js';
import { startServer } from '../start_server.js';
import type { PortLog } from './port_log.js';

/** A change to another configuration */
interface Preparation {
  /** What is ready for it, once it is */
  parts?: Prepared;
  before: SentConfiguration;
  /** Aborted when nobody waits for the parts any more */
  over: AbortController;
}

/** The copy of a node that one worker runs */
export class WorkerServer {
  readonly #start: WorkerStart;
  readonly #running: RunningAddresses;
  readonly #secrets: SecretsSource;
  readonly #links: WorkerLinks;
  #elsewhere: SentNodes;
  /** What the node takes over when it opens listeners */
  #sent: SentConfiguration;
  #node!: Gateway | Backend | Edge;
  /** Resolves with the notice `begin`; undefined after it, and where there is nothing to wait for */
  #begins: Promise<void> | undefined;
  #begin: () => void = () => undefined;
  #prepared: Preparation | undefined;

  private constructor(start: WorkerStart) {
    this.#start = start;
    this.#elsewhere = start.elsewhere;
    this.#sent = start;
    this.#running = new RunningAddresses({
      entries: start.running,
      elsewhere: { node: (name) => this.#elsewhere.find((node) => node.name === name) },
    });
    this.#secrets = SecretsSource.given(start.secrets);
    this.#links = new WorkerLinks(start);
    if (start.waits)
      this.#begins = new Promise((resolve) => {
        this.#begin = (): void => {
          this.#begins = undefined;
          resolve();
        };
      });
  }

  /** @throws UserError */
  static async open(start: WorkerStart, log: PortLog): Promise<WorkerServer> {
    const server = new WorkerServer(start);
    await server.#open(log);
    return server;
  }

  get warnings(): readonly string[] {
    return this.#node.warnings;
  }

  /** Gets ready for another configuration. Returns warnings. @throws UserError */
  async prepare(sent: SentConfiguration): Promise<string[]> {
    const prepared: Preparation = { before: this.#sent, over: new AbortController() };
    this.#prepared = prepared;
    this.#sent = sent;
    try {
      prepared.parts = await this.#node.prepare(this.#load(sent.source), prepared.over.signal);
      return [...prepared.parts.warnings];
    } catch (error) {
      if (this.#prepared === prepared) await this.abandon();
      throw error;
    }
  }

  commit(): void {
    this.#prepared?.parts?.commit();
    this.#prepared = undefined;
  }

  /** Gives up what gets ready, also before it is. */
  async abandon(): Promise<void> {
    if (!this.#prepared) return;
    const { parts, before, over } = this.#prepared;
    this.#prepared = undefined;
    this.#sent = before;
    over.abort(new Error('the worker got ready too late'));
    await parts?.abandon();
  }

  async report(): Promise<WorkerReport> {
    const { refresh, registry } = this.#node.service;
    await refresh();
    return { status: this.#node.status(), metrics: await registry.getMetricsAsJSON() };
  }

  /** Publishes bytes that the main thread has, on a channel whose source is here. */
  async publish({ channel, title, port }: PublishedBytes): Promise<Published> {
    const published = this.#node.service.publish?.(channel, receiveBytes(port), title);
    if (published) return published;
    port.close();
    throw new Error(`this worker has no channel ${channel}`);
  }

  async close(drainMs: number): Promise<void> {
    await this.#node.close(drainMs);
  }

  take(notice: WorkerNotice): void {
    switch (notice.notice) {
      case 'certificate':
        this.#sent = { ...this.#sent, certificate: notice.pair };
        return this.#node.certificate.use(notice.pair);
      case 'secrets':
        return this.#secrets.use(notice.secrets);
      case 'running':
        return this.#running.set(notice.name, notice.address);
      case 'elsewhere':
        this.#elsewhere = notice.nodes;
        return;
      case 'drain':
        this.#node.service.drainBackend?.(notice.backend, notice.drains);
        return;
      case 'peer':
        return this.#links.connect(notice.worker, notice.port);
      case 'begin':
        return this.#begin();
      case 'stopAccepting':
        return this.#node.stopAccepting();
    }
  }

  async #open(log: PortLog): Promise<void> {
    const { index, keyLog, source } = this.#start;
    this.#node = await startServer(this.#load(source), {
      running: this.#running,
      logStream: log,
      worker: index,
      shared: this.#shared(),
      ...(keyLog !== undefined && { keyLog }),
    });
  }

  #load({ text, file }: ConfigurationSource): LoadedServer {
    const { name, count } = this.#start;
    const loaded = parseConfiguration(text, file).nodes.find((node) => node.name === name);
    if (loaded === undefined || loaded.role === 'tunnel') throw new Error(`the node ${name} got lost`);
    return shareOf(loaded, count);
  }

  #shared(): SharedParts {
    const sent = (): SentConfiguration => this.#sent;
    const known = <Value>(value: Value | undefined): Value => {
      if (value === undefined) throw new Error('there are no sockets for this worker');
      return value;
    };
    const { process, index, count } = this.#start;
    return {
      worker: { process, index, count },
      counts: (name) => openSharedCounts(`${Buffer.from(process).toString('hex')} ${name}`),
      links: this.#links,
      begins: this.#begins,
      get certificate() {
        return sent().certificate;
      },
      secrets: this.#secrets,
      takeTcp: (use) => {
        const { descriptors, port } = known(sent().sockets.tcp[use]);
        return descriptors.map((each) => ({ descriptor: duplicateDescriptor(each), port, begins: this.#begins }));
      },
      udp: (use): SharedUdp => known(sent().sockets.udp[use]),
    };
  }
}
