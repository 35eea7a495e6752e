import type { Logger } from 'pino';
import { errorMessage } from '../../errors/user_error.js';
import type { Exchange, Target } from '../../http/exchange.js';
import type { FallbackReason } from '../../http/fallback_reasons.js';
import { mayProxyAgain } from '../../http/proxied_request.js';
import { ReceivedBody } from '../../http/received_body.js';
import { refuseReplay } from '../../http/refuse_replay.js';
import { respondStatus } from '../../http/respond.js';
import { proxiedBody } from './proxied_body.js';
import { proxyRequest, type Offer } from '../backbone/proxy_request.js';
import type { BackendWatch } from './backend_watch.js';
import { BackendsInTurn } from './backends_in_turn.js';

/** Offers requests to backends that may answer clients without the gateway. */
export interface Offers {
  /** Returns what to offer for this request, or why the response has to be proxied. */
  offer(exchange: Exchange, backend: BackendWatch, backends: BackendsInTurn): Offer | FallbackReason;
}

/** Offers of a route whose clients may ask backends over paths of their own, or have responses proxied */
export const pathsAlone: Offers = { offer: () => 'no-path' };

/**
 * A route to backends, for clients that do not ask the backends themselves: clients without Multi-End, and all clients
 * if `delivery` is `proxy`. The gateway proxies their requests over the backbone.
 */
export class BackendRoute implements Target {
  readonly #backends: readonly BackendWatch[];
  readonly #log: Logger;
  readonly #offers: Offers | undefined;

  constructor(backends: readonly BackendWatch[], log: Logger, offers?: Offers) {
    this.#backends = backends;
    this.#log = log;
    this.#offers = offers;
  }

  async handle(exchange: Exchange): Promise<void> {
    if (refuseReplay(exchange)) return;
    const body = new ReceivedBody(exchange);
    const mayRepeat = (): boolean => mayProxyAgain(exchange.request, body, undefined);
    const backends = new BackendsInTurn(this.#backends, exchange, mayRepeat);
    try {
      await this.#proxy(exchange, body, backends);
    } finally {
      backends.end();
    }
  }

  async #proxy(exchange: Exchange, body: ReceivedBody, backends: BackendsInTurn): Promise<void> {
    let failed: FallbackReason | undefined;
    for (let turn = backends.next(); turn; turn = backends.next()) {
      const { backend, signal, answered } = turn;
      const offer = failed ?? this.#offers?.offer(exchange, backend, backends);
      const fallback = typeof offer === 'string' ? { fallback: offer } : {};
      exchange.delivered = { delivery: 'proxy', backend: backend.name, ...fallback };
      const failure = await proxyRequest(exchange, body, backend.link, {
        signal,
        onAnswered: answered,
        offer: typeof offer === 'string' ? undefined : offer,
        bodyOf: (response) => proxiedBody(exchange, response, backends),
      });
      if (!failure) return;
      exchange.delivered = undefined;
      this.#log.warn(
        { backend: backend.name, error: errorMessage(failure.error), path: exchange.pathname },
        'request failed on its way to a backend',
      );
      if (!failure.repeatable) {
        respondStatus(exchange, 502);
        return;
      }
      if (failure.offered) {
        failed = 'failed';
        backends.again(backend.link.client ? 'first' : 'last');
      }
    }
    if (backends.full) this.#log.warn({ path: exchange.pathname }, 'no backend takes more proxied requests');
    respondStatus(exchange, backends.full ? 503 : 502, backends.full ? { 'retry-after': '1' } : {});
  }
}
