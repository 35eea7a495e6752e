import type { Exchange } from '../http/exchange.js';
import type { ExchangeWatch } from '../http/request_handler.js';
import { networkOf } from '../values/client_network.js';
import type { Limits } from '../schema/limits.js';
import { bySlowness, endSlow, paceOf } from './pace.js';
import { Shares } from './shares.js';

/** So long a client may be behind before that counts, in milliseconds. */
export const patienceMs = 5_000;
const lookMs = 1_000;

export interface SlowClientsOptions {
  /** Exchanges that may have slow clients at one time; of more, the slowest are ended. */
  most: number;
  /** A client that does more than this counts as slow no more; bytes per millisecond. */
  slowRate?: number;
  /** Each network has a share of `most`. */
  shares?: boolean;
  /** A client that takes nothing of its response for so long loses it, in milliseconds. */
  unreadMs?: number;
  /** A client that sends nothing of the body that is waited for, in milliseconds. */
  bodyMs?: number;
  /** Is told why an exchange was ended. */
  onEnd?(reason: SlowReason): void;
}

/** `unread`, `no_body`: nothing for too long; `slowest`: too many are slow. */
export type SlowReason = 'unread' | 'no_body' | 'slowest';

/**
 * Watches over exchanges whose clients do their part slowly or not at all: those that do nothing for a long time are ended,
 * and the slowest of them when they are too many, so that others get what they hold.
 */
export class SlowClients implements ExchangeWatch {
  readonly #options: Required<SlowClientsOptions>;
  readonly #all = new Set<Exchange>();
  /** When one of the exchanges of a connection was last seen to have got on. */
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

  /** Ends what is too much, at `now` in milliseconds. */
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
    // Who has the beginning of its response may say more whenever it likes, as in a conversation.
    if (waitForBody && !response.headersSent) return stalled >= this.#options.bodyMs ? 'no_body' : undefined;
    if (response.writableLength === 0 || stalled < this.#options.unreadMs) return undefined;
    // Of the responses on one connection some wait for others that are sent before them.
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

/** Clients that do less are slow, in bytes per millisecond. */
const slowRate = 1;

/** Watches over all clients of a node; `onEnd` is told of each that loses its exchange. */
export function watchSlowClients(
  limits: Pick<Limits, 'slow_responses' | 'unread_timeout' | 'body_timeout'>,
  onEnd: (reason: SlowReason) => void,
): SlowClients {
  return new SlowClients({
    most: limits.slow_responses,
    shares: true,
    slowRate,
    unreadMs: limits.unread_timeout,
    bodyMs: limits.body_timeout,
    onEnd,
  });
}

const messages: Record<SlowReason, string> = {
  unread: 'the client does not take its response',
  no_body: 'the client does not send its body',
  slowest: 'the client is slow, as many others are',
};
