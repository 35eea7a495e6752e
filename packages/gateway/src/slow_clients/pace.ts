import type { Exchange } from '../http/exchange.js';
import { BodyTimeout } from '../http/received_body.js';
import { SlowClient } from '../http/respond.js';

/**
 * Measures how fast a client does its part of an exchange while it is its turn: taking the response, or sending the
 * body.
 */
export class Pace {
  #behindSince: number | undefined;
  #doneThen = 0;
  #done = 0;
  #movedAt = 0;

  /** Observes the exchange at `now`, in milliseconds. */
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

  /** Time of the latest progress that was seen, in milliseconds */
  get movedAt(): number {
    return this.#movedAt;
  }

  /** Returns for how long it has been the client's turn, in milliseconds. */
  behindFor(now: number): number {
    return this.#behindSince === undefined ? 0 : now - this.#behindSince;
  }

  /** Returns for how long the client has made no progress although it was its turn, in milliseconds. */
  stalledFor(now: number): number {
    return this.#behindSince === undefined ? 0 : now - Math.max(this.#behindSince, this.#movedAt);
  }

  /** Returns the bytes per millisecond since it became the client's turn. */
  rate(now: number): number {
    return (this.#done - this.#doneThen) / Math.max(1, this.behindFor(now));
  }
}

/** A WeakMap of exchanges would cost every collection of garbage more than all paces do. */
const paceKey = Symbol('pace');

/** Returns the pace of an exchange, which all share who observe it. */
export function paceOf(exchange: Exchange & { [paceKey]?: Pace }): Pace {
  return (exchange[paceKey] ??= new Pace());
}

/** Sorts the slowest exchange first; among exchanges without progress, the one that has waited longest. */
export function bySlowness(now: number): (one: Exchange, other: Exchange) => number {
  return (one, other) =>
    paceOf(one).rate(now) - paceOf(other).rate(now) || paceOf(other).behindFor(now) - paceOf(one).behindFor(now);
}

/**
 * Returns whether the exchange waits for its client. An HTTP/1.1 response without a socket waits for earlier responses
 * instead (RFC 9112 §9.3.2).
 */
function isClientsTurn({ response, waitForBody, taken }: Exchange): boolean {
  return (
    waitForBody !== undefined || taken?.waits === true || (response.writableLength > 0 && response.socket !== null)
  );
}

/** Ends an exchange whose client does not do its part. */
export function endSlow(exchange: Exchange, reason: string): void {
  if (exchange.waitForBody && !exchange.response.headersSent) exchange.waitForBody(new BodyTimeout());
  else if (exchange.taken) exchange.taken.end();
  // The error is needed: without one, HTTP/2 would end the response as complete.
  else exchange.response.destroy(new SlowClient(reason));
}
