import type { Exchange } from '../http/exchange.js';
import type { ExchangeWatch } from '../http/request_handler.js';
import { canonicalText } from '../values/canonical.js';
import { networkOf } from '../values/client_network.js';
import type { Limits } from '../schema/limits.js';
import { bySlowness, endSlow, paceOf } from './pace.js';
import { Shares } from './shares.js';

/** Time in milliseconds for which a client may be behind without consequences */
export const patienceMs = 5_000;
const lookMs = 1_000;

export interface SlowClientsOptions {
  /** Exchanges that may have slow clients at one time. Beyond that, the slowest are ended. */
  most: number;
  /** Rate in bytes per millisecond above which a client is not slow */
  slowRate?: number;
  /** Whether each network has a share of `most` */
  shares?: boolean;
  /** Time in milliseconds after which a client that takes nothing of its response loses it */
  unreadMs?: number;
  /** Time in milliseconds after which a client that sends nothing of an awaited body loses the exchange */
  bodyMs?: number;
  /** Receives the reason why an exchange was ended. */
  onEnd?(reason: SlowReason): void;
}

/** `unread`, `no_body`: the client did nothing for too long. `slowest`: too many clients are slow. */
export type SlowReason = 'unread' | 'no_body' | 'slowest';

/**
 * Watches exchanges for clients that do their part slowly or not at all. Ends exchanges without progress for a long
 * time. When too many clients are slow, also ends the slowest exchanges, so that others get their resources.
 */
export class SlowClients implements ExchangeWatch {
  readonly #options: Required<SlowClientsOptions>;
  readonly #all = new Set<Exchange>();
  /** Time of the latest progress on each connection */
  readonly #movedAt = new WeakMap<object, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SlowClientsOptions) {
    this.#options = {
      slowRate: Infinity,
      shares: false,
      unreadMs: Infinity,
      bodyMs: Infinity,
      onEnd: () => undefined,
      ...options,
    };
  }

  add(exchange: Exchange): void {
    this.#all.add(exchange);
    this.#timer ??= setInterval(() => this.look(performance.now()), lookMs).unref();
  }

  delete(exchange: Exchange): void {
    this.#all.delete(exchange);
  }

  /** Ends the exchanges that exceed a bound. `now` is in milliseconds. */
  look(now: number): void {
    if (this.#all.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const exchange of this.#all) {
      const { carrier } = exchange.request;
      const pace = paceOf(exchange);
      pace.observe(exchange, now);
      if (carrier) this.#movedAt.set(carrier, Math.max(pace.movedAt, this.#movedAt.get(carrier) ?? 0));
    }
    for (const exchange of this.#all) {
      const reason = this.#overdue(exchange, now);
      if (reason) this.#end(exchange, reason);
    }
    this.#endSlowest(now);
  }

  #overdue(exchange: Exchange, now: number): SlowReason | undefined {
    const stalled = paceOf(exchange).stalledFor(now);
    const { waitForBody, response, request } = exchange;
    // After the response has begun, the client may send the rest of its body at any time, as in a conversation.
    if (waitForBody && !response.headersSent) return stalled >= this.#options.bodyMs ? 'no_body' : undefined;
    if (response.writableLength === 0 || stalled < this.#options.unreadMs) return undefined;
    // Responses of one connection may wait for others that are sent before them.
    const movedAt = request.carrier && this.#movedAt.get(request.carrier);
    return movedAt !== undefined && now - movedAt < this.#options.unreadMs ? undefined : 'unread';
  }

  #endSlowest(now: number): void {
    const { most, slowRate, shares } = this.#options;
    if (this.#all.size <= (shares ? most / 2 : most)) return;
    const slow = [...this.#all]
      .filter((exchange) => paceOf(exchange).behindFor(now) >= patienceMs && paceOf(exchange).rate(now) < slowRate)
      .sort(bySlowness(now));
    const kept = new Shares(most);
    for (const exchange of slow.reverse()) {
      const network = shares ? networkOf(exchange.request.remoteAddress) : '';
      if (shares ? kept.hasRoomFor(network) : kept.count < most) kept.add(network);
      else this.#end(exchange, 'slowest');
    }
  }

  #end(exchange: Exchange, reason: SlowReason): void {
    this.#all.delete(exchange);
    this.#options.onEnd(reason);
    endSlow(exchange, messages[reason]);
  }
}

/** Rate in bytes per millisecond below which clients are slow */
const slowRate = 1;

/** The watch over all clients of a node. One bounds all of them, so it stays while its bounds do. */
export class NodeSlowClients {
  #bounds = '';
  #current: SlowClients | undefined;

  /** `onEnd` receives the reason for each exchange that was ended. */
  constructor(private readonly onEnd: (reason: SlowReason) => void) {}

  /** Returns the watch for these limits. */
  by({
    slow_responses: most,
    unread_timeout: unreadMs,
    body_timeout: bodyMs,
  }: Pick<Limits, 'slow_responses' | 'unread_timeout' | 'body_timeout'>): SlowClients {
    const bounds = canonicalText([most, unreadMs, bodyMs]);
    if (!this.#current || bounds !== this.#bounds)
      this.#current = new SlowClients({ most, shares: true, slowRate, unreadMs, bodyMs, onEnd: this.onEnd });
    this.#bounds = bounds;
    return this.#current;
  }
}

const messages: Record<SlowReason, string> = {
  unread: 'the client does not take its response',
  no_body: 'the client does not send its body',
  slowest: 'the client is slow, as many others are',
};
