import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import type { Exchange, Target } from '../http/exchange.js';
import { isSafe } from '../http/methods.js';
import { ReceivedBody } from '../http/received_body.js';
import { respondStatus } from '../http/respond.js';
import { carriedBody } from './carried_body.js';
import { carryOver } from './carry_over.js';
import type { EndWatch } from './end_watch.js';
import { EndsInTurn } from './ends_in_turn.js';

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
    const ends = new EndsInTurn(this.#ends, exchange);
    await this.#carry(exchange, ends).finally(() => ends.leave());
  }

  async #carry(exchange: Exchange, ends: EndsInTurn): Promise<void> {
    const body = new ReceivedBody(exchange);
    for (let turn = ends.next(); turn; turn = ends.next()) {
      const { end, signal } = turn;
      const failure = await carryOver(exchange, body, end.link, { signal, bodyOf: (response) => carriedBody(exchange, response, ends) });
      if (!failure) return;
      this.#log.warn({ end: end.name, error: errorMessage(failure.error), path: exchange.pathname }, 'request failed on its way to an end');
      if (!failure.repeatable) return respondStatus(exchange, 502);
    }
    if (ends.full) this.#log.warn({ path: exchange.pathname }, 'no end has room for more requests that are carried to it');
    respondStatus(exchange, ends.full ? 503 : 502, ends.full ? { 'retry-after': '1' } : {});
  }
}
