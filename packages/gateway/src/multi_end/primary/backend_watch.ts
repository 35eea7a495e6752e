import type { ServerConnection } from '@sheaf/native';
import type { Logger } from 'pino';
import { maxProxied, type BackboneLink } from '../backbone/backbone_link.js';
import type { EndTrace, Tracer } from '../../http/tracer.js';
import type { Channel } from '../backbone/channel.js';
import type { BackboneMessage } from '../backbone/messages.js';
import type { NodeKey } from '../../values/node_key.js';
import { Sealer, snapshotKind, type Sodium } from '../backbone/sealed_message.js';
import type { LoadedBackendReference } from '../../schema/loaded.js';
import { formatAddress } from '../../values/listen_error.js';
import type { BackendHealth, BackendReport } from '../../observability/backend_report.js';
import { Places } from '../../slow_clients/places.js';
import { Dependents } from './dependents.js';
import { HandOvers, type HandOversOptions } from './hand_overs.js';
import { Silence } from './silence.js';

export interface BackendWatchOptions {
  reference: LoadedBackendReference;
  /** Connection for messages */
  link: BackboneLink;
  /** Connection for the requests of clients */
  requests: BackboneLink;
  /** Connection for runs, if a route lets the backend send from the gateway's address */
  runs: BackboneLink | undefined;
  key: NodeKey;
  sodium: Sodium;
  addresses: HandOversOptions['addresses'];
  /** Whether a registry says that others come first. It is a hint: a backend that answers is not lost. */
  isDoubtful: () => boolean;
  /** Hears once that another process has taken the place of this one. */
  onReplaced(): void;
  /** Traces hand-overs */
  tracer?: Tracer | undefined;
  log: Logger;
}

/**
 * Time in milliseconds for which requests at a lost backend may continue. Perhaps only the backbone is cut; but without
 * it the backend gets no more credit, and a request could wait forever.
 */
const lostMs = 5_000;

/** Looks at a backend for which requests wait: within a second it is known that it answers nothing. */
const quietLooks = { stepMs: 200, steps: 4 };
/** Looks within `health.timeout`. One more, and the backend is lost. */
const lossLooks = 4;

/** Maximum of responses that one backend may send itself at a time. Each holds a file there. */
const maxReturned = 2_048;

/** A request that the backend has */
export interface Asker {
  /** The backend is lost: nothing is to wait for it any longer. */
  onLost(): void;
  /** The backend answers nothing for a moment. Another one may answer sooner. */
  onSilence(): void;
}

type Pong = Extract<BackboneMessage, { type: 'pong' }>;

/** Watches one process of a backend, or those that start in its place, and hands over connections while it serves. */
export class BackendWatch {
  readonly handOvers: HandOvers;
  proxied = 0;
  readonly places = new Places(maxProxied);
  /** Responses that the backend sends itself */
  readonly returning = new Places(maxReturned);
  readonly dependents = new Dependents();
  /** Number of the turn in which the backend was chosen last, among the turns of all backends */
  chosen = 0;
  readonly #options: BackendWatchOptions;
  #state: BackendHealth = 'joining';
  #channel: Channel | undefined;
  /** Random id of the backend's process */
  #run: string | undefined;
  #sequence = 0;
  /** Whether the backend was not heard for `health.timeout`, or is gone */
  #gone = false;
  #pong: Pong | undefined;
  /** Where the backend has said that it drains */
  #drained: { channel: Channel } | undefined;
  /** Whether the backend's process takes runs */
  #wantsRuns = false;
  #runsClosed = Promise.resolve();
  /** Number of requests of this gateway when the backend last reported its requests */
  #ownThen = 0;
  /** Whether the process has said that another one took its place, and whether it said anything else before */
  #replaced = false;
  #served = false;
  /** Called once nothing needs this process; undefined until others are asked instead of it */
  #onNeedless: (() => void) | undefined;
  /** Whether the operator drains the backend */
  #drains = false;
  #checkFailed = false;
  /** Timer until a lost backend counts as gone */
  #hope: NodeJS.Timeout | undefined;
  readonly #askers = new Set<Asker>();
  readonly #quiet = new Silence({ ...quietLooks, ask: () => this.#ping(), onSilence: () => this.#onSilence() });
  /** A backend that was heard counts as lost by this one. */
  readonly #loss: Silence;
  #timer: NodeJS.Timeout | undefined;
  #onHeard!: () => void;
  readonly #heard = new Promise<void>((resolve) => (this.#onHeard = resolve));

  constructor(options: BackendWatchOptions) {
    this.#options = options;
    const { reference, link, log, addresses, tracer } = options;
    const trace = (): EndTrace | undefined => tracer?.handOver(link.server);
    this.handOvers = new HandOvers({ id: reference.id, addresses, trace, log });
    this.#loss = new Silence({
      stepMs: reference.health.timeout / lossLooks,
      steps: lossLooks + 1,
      ask: () => this.#ping(),
      onSilence: () => this.#setGone(true),
    });
    link.on('open', (channel) => this.#onOpen(channel));
    link.on('close', () => this.#onClose());
  }

  get name(): string {
    return this.#options.reference.name;
  }

  /** Connection for the requests of clients */
  get link(): BackboneLink {
    return this.#options.requests;
  }

  /** Whether the process has served since this node knows it */
  get hasServed(): boolean {
    return this.#served;
  }

  /** Connection for runs, if a route lets the backend send from the gateway's address */
  get runs(): BackboneLink | undefined {
    return this.#options.runs;
  }

  get state(): BackendHealth {
    return this.#state;
  }

  /** Whether the backend has just answered nothing for a moment, while requests waited for it */
  get silent(): boolean {
    return this.#quiet.silent;
  }

  /** Whether others come first for new work */
  get doubtful(): boolean {
    return this.silent || this.#options.isDoubtful();
  }

  /** Whether the backend has said that it can send from the gateway's address */
  get returns(): boolean {
    return this.#pong?.returns ?? false;
  }

  /**
   * Number of requests in flight at the backend: its latest report, plus those since. A request whose response it sends itself is
   * in flight until the client has that.
   */
  get requestsActive(): number {
    return Math.max(0, (this.#pong?.requests ?? 0) + this.#own - this.#ownThen);
  }

  /** Number of requests that this gateway has at the backend */
  get #own(): number {
    return this.places.count + this.returning.count;
  }

  /** Resolves once the process was heard, and takes requests. */
  async ready(): Promise<void> {
    await Promise.all([this.#heard, this.link.opened()]);
  }

  start(): void {
    const { reference, link, requests } = this.#options;
    link.start();
    requests.start();
    this.#timer = setInterval(() => this.#tick(), reference.health.interval).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#hope);
    this.#quiet.stop();
    this.#loss.stop();
    this.#wantsRuns = false;
    const { link, requests, runs } = this.#options;
    await Promise.all([link.close(), requests.close(), runs?.close()]);
  }

  /**
   * Leaves the process to its clients: `next` watches the one in its place. Resolves once it is closed, when it has none any
   * more, and no exchange needs it.
   */
  async leaveTo(next: BackendWatch): Promise<void> {
    const { link, requests, runs } = this.#options;
    for (const each of [link, requests, runs]) each?.retire();
    this.handOvers.leaveTo((connection) => next.addConnection(connection));
    const needless = new Promise<void>((resolve) => (this.#onNeedless = resolve));
    if (this.#pong) this.#noteDraining(this.#pong);
    await needless;
    await this.close();
  }

  /** Drains the backend, or puts it back into service. */
  drain(drains: boolean): void {
    this.#drains = drains;
    this.#channel?.send({ type: 'drain', drains });
    this.#evaluate();
  }

  enter(asker: Asker): void {
    this.#askers.add(asker);
    this.#quiet.watch();
  }

  leave(asker: Asker): void {
    this.#askers.delete(asker);
    if (this.#askers.size === 0) this.#quiet.stop();
  }

  /** The connection for runs is silent, although the backend has something to send. */
  noteSilence(): void {
    this.#quiet.note();
  }

  addConnection(connection: ServerConnection): void {
    this.handOvers.add(connection);
  }

  report(): BackendReport {
    const { reference, addresses, link, runs } = this.#options;
    return {
      name: reference.name,
      id: reference.id,
      addresses: addresses().map(formatAddress),
      state: this.#state,
      backbone: link.status(),
      connections: this.handOvers.offered,
      load: (this.#pong?.load ?? 0) / 1_000,
      requestsActive: this.#pong?.requests ?? 0,
      bytesSent: this.#pong?.bytesSent ?? 0,
      bytesReceived: this.#pong?.bytesReceived ?? 0,
      proxied: this.proxied,
      returning: this.returning.count,
      returns: this.returns,
      ...(runs ? { runs: runs.status() } : {}),
    };
  }

  #onOpen(channel: Channel): void {
    const { key, sodium, requests, runs } = this.#options;
    this.#channel = channel;
    // Nobody answers on connections to a process that is gone.
    for (const other of [requests, runs]) if (other?.channel && other.channel.run !== channel.run) other.renew();
    channel.on('message', (message) => this.#onMessage(message));
    if (this.#drains) channel.send({ type: 'drain', drains: true });
    this.handOvers.attach(channel, new Sealer(key, channel.session, sodium, snapshotKind), channel.run === this.#run);
    this.#run = channel.run;
    this.#ping();
  }

  #onClose(): void {
    const wasOpen = this.#channel !== undefined;
    this.#channel = undefined;
    this.handOvers.detach();
    // A backend that announced its end is gone, unless another process takes its place at once. Others may return soon.
    this.#setGone(this.#gone || this.#left || (!wasOpen && this.#pong?.state === 'draining'));
  }

  /** Whether others are asked instead */
  get #left(): boolean {
    return this.#onNeedless !== undefined;
  }

  #onMessage(message: BackboneMessage): void {
    if (message.type !== 'pong') return this.handOvers.onMessage(message);
    this.#pong = message;
    this.#onHeard();
    if (message.state === 'replaced') this.#noteReplaced();
    else this.#served = true;
    this.#setRuns(message.returns);
    this.#noteDraining(message);
    this.#ownThen = this.#own;
    this.#quiet.heard();
    this.#loss.heard();
    this.#loss.watch();
    this.#setGone(false);
  }

  #noteReplaced(): void {
    if (this.#replaced) return;
    this.#replaced = true;
    // It would refuse them.
    this.handOvers.pause();
    this.#options.onReplaced();
  }

  #setGone(gone: boolean): void {
    this.#gone = gone;
    this.#evaluate();
  }

  /**
   * Tells a backend that drains when no exchange needs it. It may stop then, and what it has sent by then is lost unless the
   * gateway has read it. So exchanges count that come later, as there is no other backend.
   */
  #noteDraining({ state }: Pong): void {
    const channel = this.#channel;
    if (state === 'draining' && this.#drained?.channel === channel) return;
    this.#drained = undefined;
    // Exchanges come here for as long as the process in its place is not there yet.
    if (!channel || state !== 'draining' || (this.#replaced && !this.#left)) return;
    const drained = (this.#drained = { channel });
    this.dependents.whenNone(() => {
      if (this.#drained === drained) channel.send({ type: 'done' });
    });
  }

  /** Connects for runs while the backend's process takes them. */
  #setRuns(wanted: boolean): void {
    const { runs } = this.#options;
    if (!runs || wanted === this.#wantsRuns) return;
    this.#wantsRuns = wanted;
    if (!wanted) this.#runsClosed = runs.close();
    else void this.#runsClosed.then(() => this.#wantsRuns && runs.start());
  }

  #onSilence(): void {
    for (const asker of [...this.#askers]) asker.onSilence();
  }

  #ping(): void {
    this.#sequence = (this.#sequence + 1) >>> 0;
    this.#channel?.send({ type: 'ping', sequence: this.#sequence });
  }

  #tick(): void {
    if (this.handOvers.count === 0 && this.dependents.count === 0) this.#onNeedless?.();
    this.#ping();
    void this.#check();
    this.handOvers.handOverWaiting();
  }

  /** Requests the configured health path. */
  async #check(): Promise<void> {
    const { link, reference } = this.#options;
    const { path, timeout } = reference.health;
    if (path === undefined || !link.client) return;
    const failed = await link.client
      .request({ path, signal: AbortSignal.timeout(timeout) })
      .then((response) => response.resume().status >= 400)
      .catch(() => true);
    this.#checkFailed = failed;
    this.#evaluate();
  }

  #assess(): BackendHealth {
    if (!this.#pong) return 'joining';
    if (this.#gone) return 'lost';
    if (this.#drains || this.#pong.state === 'draining') return 'draining';
    return this.#checkFailed ? 'unhealthy' : 'serving';
  }

  #evaluate(): void {
    const before = this.#state;
    const state = this.#assess();
    this.#state = state;
    if (state === before) return;
    const grave = (state === 'lost' || state === 'unhealthy') && !this.#left;
    this.#options.log[grave ? 'warn' : this.#left ? 'debug' : 'info'](
      { backend: this.name, before, state },
      'a backend changed',
    );
    clearTimeout(this.#hope);
    if (state === 'lost') {
      this.#hope = setTimeout(() => this.handOvers.withdraw('gone'), lostMs).unref();
      for (const asker of [...this.#askers]) asker.onLost();
    }
    if (state === 'serving' && !this.#replaced) this.handOvers.serve();
    else if (before === 'serving') this.handOvers.withdraw('drains');
  }
}
