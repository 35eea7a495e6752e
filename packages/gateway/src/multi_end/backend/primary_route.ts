import type { Logger } from 'pino';
import type { BackboneLink } from '../backbone/backbone_link.js';
import { errorMessage } from '../../errors/user_error.js';
import type { Exchange, Target } from '../../http/exchange.js';
import { ReceivedBody } from '../../http/received_body.js';
import { refuseReplay } from '../../http/refuse_replay.js';
import { respondStatus } from '../../http/respond.js';
import { maxProxied } from '../backbone/backbone_link.js';
import { Places } from '../../slow_clients/places.js';
import { proxyRequest } from '../backbone/proxy_request.js';

/**
 * Answers requests that reached a backend without a route for them, as after a change of the route map. The gateway
 * answers them.
 */
export class PrimaryRoute implements Target {
  readonly #primary: BackboneLink;
  readonly #log: Logger;
  readonly #places = new Places(maxProxied);

  constructor(primary: BackboneLink, log: Logger) {
    this.#primary = primary;
    this.#log = log;
  }

  async handle(exchange: Exchange): Promise<void> {
    if (refuseReplay(exchange)) return;
    if (!this.#places.enter(exchange, performance.now())) {
      this.#log.warn({ path: exchange.pathname }, 'the gateway takes no more proxied requests');
      respondStatus(exchange, 503, { 'retry-after': '1' });
      return;
    }
    const failure = await proxyRequest(exchange, new ReceivedBody(exchange), this.#primary).finally(() =>
      this.#places.leave(exchange),
    );
    if (!failure) return;
    this.#log.warn(
      { error: errorMessage(failure.error), path: exchange.pathname },
      'request failed on its way to the gateway',
    );
    respondStatus(exchange, 502);
  }
}
