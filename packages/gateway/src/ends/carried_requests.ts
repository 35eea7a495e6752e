import { mostCarried } from '../backbone/backbone_link.js';
import type { Exchange } from '../http/exchange.js';

/** A client that has taken nothing for so long makes room for others, when there is none. */
const stalledMs = 5_000;

interface Carried {
  /** When `bytes` was found. */
  since: number;
  bytes: number;
}

/** The requests that are being carried to one node, so that they stay within what it and this node can bear. */
export class CarriedRequests {
  readonly #most: number;
  readonly #all = new Map<Exchange, Carried>();

  constructor(most = mostCarried) {
    this.#most = most;
  }

  get count(): number {
    return this.#all.size;
  }

  /** False: there is no room, at `now` in milliseconds. Who comes in calls `leave`. */
  enter(exchange: Exchange, now: number): boolean {
    if (this.#all.size >= this.#most) this.#giveUpStalled(now);
    if (this.#all.size >= this.#most) return false;
    this.#all.set(exchange, { since: now, bytes: 0 });
    return true;
  }

  leave(exchange: Exchange): void {
    this.#all.delete(exchange);
  }

  /** The one whose client has not read for the longest time. */
  #giveUpStalled(now: number): void {
    let longest: [Exchange, Carried] | undefined;
    for (const [exchange, carried] of this.#all) {
      if (exchange.bytesSent !== carried.bytes || exchange.response.writableLength === 0) {
        carried.bytes = exchange.bytesSent;
        carried.since = now;
      } else if (now - carried.since >= stalledMs && carried.since < (longest?.[1].since ?? Infinity)) longest = [exchange, carried];
    }
    if (!longest) return;
    this.leave(longest[0]);
    longest[0].response.destroy();
  }
}
