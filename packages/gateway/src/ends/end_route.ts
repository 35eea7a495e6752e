import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import type { Exchange, Target } from '../http/exchange.js';
import { isSafe } from '../http/methods.js';
import { respondStatus } from '../http/respond.js';
import { carryOver } from './carry_over.js';
import type { EndHealth, EndWatch } from './end_watch.js';

/** Most likely to answer first. */
const order: readonly EndHealth[] = ['serving', 'draining', 'unhealthy', 'joining', 'lost'];

/**
 * A route of ends for those who do not ask the ends themselves: clients without Multi-End, and all clients where
 * `delivery` is `proxy`. The gateway carries their requests over the backbone.
 */
export class EndRoute implements Target {
  readonly #ends: readonly EndWatch[];
  readonly #log: Logger;

  constructor(ends: readonly EndWatch[], log: Logger) {
    this.#ends = ends;
    this.#log = log;
  }

  async handle(exchange: Exchange): Promise<void> {
    // RFC 8470 §5.2: a replayed request must not change anything.
    if (exchange.request.early && !isSafe(exchange.request.method)) {
      respondStatus(exchange, 425);
      return;
    }
    const left = [...this.#ends];
    let full = false;
    for (;;) {
      left.sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state) || one.requestsActive - other.requestsActive);
      const end = left.shift();
      if (!end) break;
      if (!end.carried.enter(exchange, performance.now())) {
        full = true;
        continue;
      }
      end.proxied += 1;
      const failure = await carryOver(exchange, end.link).finally(() => end.carried.leave(exchange));
      if (!failure) return;
      this.#log.warn({ end: end.name, error: errorMessage(failure.error), path: exchange.pathname }, 'request failed on its way to an end');
      if (!failure.repeatable) break;
    }
    if (full) this.#log.warn({ path: exchange.pathname }, 'no end has room for more requests that are carried to it');
    respondStatus(exchange, full ? 503 : 502, full ? { 'retry-after': '1' } : {});
  }
}
