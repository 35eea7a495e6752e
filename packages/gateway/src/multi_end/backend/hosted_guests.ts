import type { Channel } from '../backbone/channel.js';
import { replacedReason, type BackboneMessage, type BackendState } from '../backbone/messages.js';
import { within } from '../../values/within.js';
import { Guests, type GuestsOptions } from './guests.js';

/** A backend's report about itself */
export interface BackendReading {
  load: number;
  requests: number;
  bytesSent: number;
  bytesReceived: number;
}

export interface HostedGuestsOptions extends Omit<GuestsOptions, 'refusal'> {
  reading(): BackendReading;
  /** Whether this backend can send from the address of a gateway */
  returns: boolean;
  /** Maximum of connections that this backend serves */
  most: number;
}

/** A backend's side of the backbone: the connections for each run of its gateway */
export class HostedGuests {
  readonly #options: HostedGuestsOptions;
  readonly #byRun = new Map<string, Guests>();
  readonly #channels = new Set<Channel>();
  /** Channels whose gateway needs this backend no more, since it drains */
  readonly #done = new Set<Channel>();
  #onDone: (() => void) | undefined;
  #stopping = false;
  #replaced = false;
  #drains = false;

  constructor(options: HostedGuestsOptions) {
    this.#options = options;
  }

  get count(): number {
    return [...this.#byRun.values()].reduce((sum, { count }) => sum + count, 0);
  }

  get state(): BackendState {
    if (this.#stopping) return 'draining';
    // What the operator drains is replaced all the same: the gateway drains the next process, too.
    if (this.#replaced) return 'replaced';
    return this.#drains ? 'draining' : 'serving';
  }

  /** Whether the gateway is connected */
  get attended(): boolean {
    return this.#channels.size > 0;
  }

  attach(channel: Channel): void {
    this.#sweep();
    let guests = this.#byRun.get(channel.run);
    if (!guests) {
      guests = new Guests({ ...this.#options, refusal: () => this.#refusal() });
      this.#byRun.set(channel.run, guests);
    }
    guests.attach(channel);
    this.#channels.add(channel);
    channel.once('close', () => {
      this.#channels.delete(channel);
      this.#done.delete(channel);
      this.#settle();
    });
    const attached = guests;
    channel.on('message', (message) => this.#onMessage(message, attached, channel));
  }

  /** Accepts no more connections: gateways find another process at the same address. Those that are here stay. */
  replace(): void {
    this.#replaced = true;
    this.#announce();
  }

  /** Drains all connections, since the process is about to end. */
  stop(): void {
    this.#stopping = true;
    this.#announce();
    for (const guests of this.#byRun.values()) guests.drain();
  }

  /**
   * Resolves when no gateway needs this backend for an exchange, or after this time in milliseconds. To be called once, after
   * `stop`.
   */
  async needless(ms: number): Promise<void> {
    const done = new Promise<void>((resolve) => (this.#onDone = resolve));
    this.#settle();
    await within(done, ms);
  }

  #settle(): void {
    if (this.#done.size === this.#channels.size) this.#onDone?.();
  }

  #refusal(): string | undefined {
    if (this.state === 'draining') return 'the backend is draining';
    if (this.state === 'replaced') return replacedReason;
    return this.count >= this.#options.most ? 'the backend has as many connections as it may' : undefined;
  }

  #onMessage(message: BackboneMessage, guests: Guests, channel: Channel): void {
    switch (message.type) {
      case 'ping':
        return this.#answer(channel, message.sequence);
      case 'drain':
        this.#drains = message.drains;
        if (!message.drains) this.#done.delete(channel);
        return this.#announce();
      case 'done':
        if (this.state === 'draining') this.#done.add(channel);
        return this.#settle();
      default:
        return guests.onMessage(message);
    }
  }

  #announce(): void {
    for (const channel of this.#channels) this.#answer(channel, 0);
  }

  #answer(channel: Channel, sequence: number): void {
    const { load, requests, bytesSent, bytesReceived } = this.#options.reading();
    channel.send({
      type: 'pong',
      sequence,
      state: this.state,
      load: Math.round(load * 1_000),
      connections: this.count,
      requests,
      bytesSent,
      bytesReceived,
      returns: this.#options.returns,
    });
  }

  /** Removes earlier runs of the gateway whose last client has left. */
  #sweep(): void {
    for (const [run, guests] of this.#byRun) if (guests.orphaned && guests.count === 0) this.#byRun.delete(run);
  }
}
