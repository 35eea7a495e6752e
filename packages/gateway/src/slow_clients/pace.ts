import type { Exchange } from '../http/exchange.js';
import { BodyTimeout } from '../http/received_body.js';
import { SlowClient } from '../http/respond.js';

/** How fast a client does its part of an exchange, while it is its turn: takes the response, or sends the body. */
export class Pace {
  #behindSince: number | undefined;
  #doneThen = 0;
  #done = 0;
  #movedAt = 0;

  /** Looks at the exchange at `now`, in milliseconds. */
  observe(exchange: Exchange, now: number): void {
    const done = exchange.bytesSent - exchange.response.writableLength + exchange.bytesReceived;
    if (done !== this.#done) this.#movedAt = now;
    this.#done = done;
    if (!isClientsTurn(exchange)) this.#behindSince = undefined;
    else if (this.#behindSince === undefined) {
      this.#behindSince = now;
      this.#doneThen = done;
    }
  }

  /** When the exchange was last seen to have got on, in milliseconds. */
  get movedAt(): number {
    return this.#movedAt;
  }

  /** So long it has been the client's turn, in milliseconds. */
  behindFor(now: number): number {
    return this.#behindSince === undefined ? 0 : now - this.#behindSince;
  }

  /** So long the client has done nothing although it was its turn, in milliseconds. */
  stalledFor(now: number): number {
    return this.#behindSince === undefined ? 0 : now - Math.max(this.#behindSince, this.#movedAt);
  }

  /** Bytes per millisecond since it has been the client's turn. */
  rate(now: number): number {
    return (this.#done - this.#doneThen) / Math.max(1, this.behindFor(now));
  }
}

/** One for each exchange, whoever looks. */
const paces = new WeakMap<Exchange, Pace>();

export function paceOf(exchange: Exchange): Pace {
  let pace = paces.get(exchange);
  if (!pace) paces.set(exchange, (pace = new Pace()));
  return pace;
}

/** The slowest first; among those that do nothing, who has done so for the longest time. */
export function bySlowness(now: number): (one: Exchange, other: Exchange) => number {
  return (one, other) =>
    paceOf(one).rate(now) - paceOf(other).rate(now) || paceOf(other).behindFor(now) - paceOf(one).behindFor(now);
}

/** RFC 9112 §9.3.2: a response without a socket waits for those before it, not for the client. */
function isClientsTurn({ response, waitForBody }: Exchange): boolean {
  return waitForBody !== undefined || (response.writableLength > 0 && response.socket !== null);
}

/** Ends an exchange whose client does not do its part. */
export function endSlow(exchange: Exchange, reason: string): void {
  if (exchange.waitForBody && !exchange.response.headersSent) exchange.waitForBody(new BodyTimeout());
  // HTTP/2 calls a response without an error complete.
  else exchange.response.destroy(new SlowClient(reason));
}
