import type { Exchange } from '../http/exchange.js';
import { networkOf } from '../values/client_network.js';
import { bySlowness, endSlow, paceOf } from './pace.js';
import { Shares } from './shares.js';
import { patienceMs } from './slow_clients.js';

/**
 * Time in milliseconds after which a slow client gives up its place to waiting ones, although it makes some progress
 */
const crawlMs = 30_000;
/** Interval in milliseconds at which waiting requests look for a client that has become slow */
const lookMs = 1_000;

/** Reason why a request got no place */
export type NoPlace = 'full' | 'late' | 'left';

export interface PlacesOptions {
  /** Requests that may wait for a place */
  queue?: number;
  /** Maximum wait, in milliseconds */
  queueMs?: number;
}

/** A request that waits for a place */
interface Waiting {
  exchange: Exchange;
  network: string;
  settle(refusal?: NoPlace): void;
}

/**
 * Bounds the requests in flight at one server to what it can bear. Each network of clients has a share. A client that
 * does not do its part of an exchange loses its place when others wait for it.
 */
export class Places {
  /** Number of requests that lost their places to others */
  ended = 0;
  readonly #queueMs: number;
  readonly #held = new Map<Exchange, string>();
  readonly #places: Shares;
  /** Waiting requests by network; within a network, first come, first served */
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #queue: Shares;
  #timer: NodeJS.Timeout | undefined;

  constructor(most: number, { queue = 0, queueMs = 0 }: PlacesOptions = {}) {
    this.#places = new Shares(most);
    this.#queue = new Shares(queue);
    this.#queueMs = queueMs;
  }

  get count(): number {
    return this.#places.count;
  }

  get waiting(): number {
    return this.#queue.count;
  }

  /** Returns whether the client's network may hold one more place. */
  hasRoomFor({ request }: Exchange): boolean {
    return this.#places.hasRoomFor(networkOf(request.remoteAddress));
  }

  /**
   * Takes a place, and returns false if there is none. `now` is in milliseconds. The caller calls `leave` after a
   * success.
   */
  enter(exchange: Exchange, now: number): boolean {
    if (!this.makeRoom(exchange, now)) return false;
    this.#take(exchange, networkOf(exchange.request.remoteAddress), now);
    return true;
  }

  /** Returns whether there is a place, for which the slowest exchange may end. `now` is in milliseconds. */
  makeRoom({ request }: Exchange, now: number): boolean {
    const network = networkOf(request.remoteAddress);
    if (!this.#places.hasRoomFor(network)) this.#endSlowest(now, network);
    return this.#places.hasRoomFor(network);
  }

  /** Waits for a place. Resolves with undefined once the exchange has a place, and then the caller calls `leave`. */
  async wait(exchange: Exchange): Promise<NoPlace | undefined> {
    if (this.enter(exchange, performance.now())) return undefined;
    const network = networkOf(exchange.request.remoteAddress);
    if (!this.#queue.hasRoomFor(network)) return 'full';
    return new Promise((resolve) => {
      const settle = (refusal?: NoPlace): void => {
        clearTimeout(timer);
        exchange.signal.removeEventListener('abort', leave);
        this.#unqueue(waiting);
        resolve(refusal);
      };
      const leave = (): void => settle('left');
      const timer = setTimeout(() => settle('late'), this.#queueMs);
      const waiting: Waiting = { exchange, network, settle };
      this.#enqueue(waiting);
      exchange.signal.addEventListener('abort', leave, { once: true });
      this.#timer ??= setInterval(() => this.#look(performance.now()), lookMs).unref();
    });
  }

  leave(exchange: Exchange): void {
    const network = this.#held.get(exchange);
    if (network === undefined) return;
    this.#held.delete(exchange);
    this.#places.delete(network);
    this.#fill(performance.now());
  }

  #take(exchange: Exchange, network: string, now: number): void {
    this.#held.set(exchange, network);
    this.#places.add(network);
    paceOf(exchange).observe(exchange, now);
  }

  /** Gives free places to waiting requests, first to the networks that hold the fewest. */
  #fill(now: number): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#take(next.exchange, next.network, now);
      next.settle();
    }
  }

  #next(): Waiting | undefined {
    let best: string | undefined;
    for (const network of this.#waiting.keys()) {
      const held = this.#places.heldBy(network);
      if (this.#places.hasRoomFor(network) && (best === undefined || held < this.#places.heldBy(best))) best = network;
      if (held === 0) break;
    }
    return best === undefined ? undefined : this.#waiting.get(best)?.values().next().value;
  }

  #enqueue(waiting: Waiting): void {
    const { network } = waiting;
    const others = this.#waiting.get(network) ?? new Set();
    this.#waiting.set(network, others.add(waiting));
    this.#queue.add(network);
  }

  #unqueue(waiting: Waiting): void {
    const { network } = waiting;
    const others = this.#waiting.get(network);
    if (!others?.delete(waiting)) return;
    if (others.size === 0) this.#waiting.delete(network);
    this.#queue.delete(network);
  }

  #look(now: number): void {
    if (this.#waiting.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const network of [...this.#waiting.keys()]) this.#endSlowest(now, network);
  }

  /**
   * Ends the slowest exchange of all clients, if that makes room for the network; otherwise the slowest of the network
   * itself.
   */
  #endSlowest(now: number, network: string): void {
    const ofAll = this.#places.hasRoomFor(network, 1);
    let slowest: Exchange | undefined;
    const slower = bySlowness(now);
    for (const [exchange, holder] of this.#held) {
      const pace = paceOf(exchange);
      pace.observe(exchange, now);
      if (!ofAll && holder !== network) continue;
      if (pace.stalledFor(now) < patienceMs && pace.behindFor(now) < crawlMs) continue;
      if (!slowest || slower(exchange, slowest) < 0) slowest = exchange;
    }
    if (!slowest) return;
    this.ended += 1;
    this.leave(slowest);
    endSlow(slowest, 'the client does not do its part, and others wait for its place');
  }
}
