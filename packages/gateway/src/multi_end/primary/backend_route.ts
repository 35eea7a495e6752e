import type { ClientResponse, WholeResponse } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../../errors/user_error.js';
import type { Exchange, Target } from '../../http/exchange.js';
import type { FallbackReason } from '../../http/fallback_reasons.js';
import { checkStatus, mayProxyAgain, requestOf } from '../../http/proxied_request.js';
import { isEmpty, ReceivedBody } from '../../http/received_body.js';
import { refuseReplay } from '../../http/refuse_replay.js';
import { respondStatus } from '../../http/respond.js';
import { proxiedBody } from './proxied_body.js';
import { proxyRequest, type Offer } from '../backbone/proxy_request.js';
import type { BackendWatch } from './backend_watch.js';
import { BackendsInTurn, type CurrentBackend, type Turn } from './backends_in_turn.js';

/** Offers requests to backends that may answer clients without the gateway. */
export interface Offers {
  /** Returns what to offer for this request, or why the response has to be proxied. */
  offer(exchange: Exchange, backend: BackendWatch, backends: BackendsInTurn): Offer | FallbackReason;
}

interface Begun {
  exchange: Exchange;
  body: ReceivedBody;
  backends: BackendsInTurn;
}

/** The first turn of an exchange, as far as it has come */
interface First {
  turn: Turn;
  offer: Offer | FallbackReason;
  /** The response to the request with the offer, or why there is none */
  answer?: WholeResponse | ClientResponse | Error;
}

/** Offers of a route whose clients may ask backends over paths of their own, or have responses proxied */
export const pathsAlone: Offers = { offer: () => 'no-path' };

/** Returns whether the other node's response was taken, which may be asked again otherwise. */
function tookOver(offer: Offer, response: WholeResponse, ended: (error?: Error) => void): boolean {
  try {
    checkStatus(response);
    offer.take(response, ended);
    return true;
  } catch {
    return false;
  }
}

/**
 * A route to backends, for clients that do not ask the backends themselves: clients without Multi-End, and all clients
 * if `delivery` is `proxy`. The gateway proxies their requests over the backbone.
 */
export class BackendRoute implements Target {
  readonly #backends: readonly CurrentBackend[];
  readonly #log: Logger;
  readonly #offers: Offers | undefined;

  constructor(backends: readonly CurrentBackend[], log: Logger, offers?: Offers) {
    this.#backends = backends;
    this.#log = log;
    this.#offers = offers;
  }

  async handle(exchange: Exchange): Promise<void> {
    if (refuseReplay(exchange)) return;
    const body = new ReceivedBody(exchange);
    await this.#proxy(exchange, body, this.#turns(exchange, body));
  }

  begin(exchange: Exchange, ended: (error?: unknown) => void): boolean {
    if (!this.#offers || exchange.request.early || !isEmpty(exchange.request)) return false;
    const body = new ReceivedBody(exchange);
    const backends = this.#turns(exchange, body);
    try {
      this.#begin({ exchange, body, backends }, this.#offers, ended);
    } catch (error) {
      backends.end();
      throw error;
    }
    return true;
  }

  /** Begins with a request that offers something. Whatever becomes of it but an accepted offer is left to `#proxy`. */
  #begin({ exchange, body, backends }: Begun, offers: Offers, ended: (error?: unknown) => void): void {
    const turn = backends.next();
    const proxy = (first?: First): void => {
      this.#proxy(exchange, body, backends, first).then(() => ended(), ended);
    };
    if (!turn) return proxy();
    const { backend, signal, answered } = turn;
    const offer = offers.offer(exchange, backend, backends);
    const { client } = backend.link;
    if (typeof offer === 'string' || !client) return proxy({ turn, offer });
    exchange.delivered = { delivery: 'proxy', backend: backend.name };
    const onEnd = (error?: Error): void => {
      // The reset tells the client that the body is incomplete.
      if (error && !exchange.aborted) exchange.response.destroy(error);
      offer.withdraw(true);
      backends.end();
      ended();
    };
    const onAnswer = (answer: WholeResponse | ClientResponse | Error): void => {
      if (!(answer instanceof Error)) answered();
      if (!('whole' in answer) || !tookOver(offer, answer, onEnd)) proxy({ turn, offer, answer });
    };
    exchange.trace?.passOn(backend.link.server);
    try {
      if (client.ask(requestOf(exchange, signal, undefined, offer.headers), offer.whole, onAnswer)) return;
    } catch (error) {
      return proxy({ turn, offer, answer: error instanceof Error ? error : new Error(String(error)) });
    }
    proxy({ turn, offer });
  }

  #turns(exchange: Exchange, body: ReceivedBody): BackendsInTurn {
    return new BackendsInTurn(this.#backends, exchange, () => mayProxyAgain(exchange.request, body, undefined));
  }

  async #proxy(exchange: Exchange, body: ReceivedBody, backends: BackendsInTurn, first?: First): Promise<void> {
    try {
      await this.#inTurn(exchange, body, backends, first);
    } finally {
      backends.end();
    }
  }

  async #inTurn(exchange: Exchange, body: ReceivedBody, backends: BackendsInTurn, first?: First): Promise<void> {
    let failed: FallbackReason | undefined;
    let begun = first;
    for (let turn = begun?.turn ?? backends.next(); turn; turn = backends.next()) {
      const { backend, signal, answered } = turn;
      const offer = begun ? begun.offer : (failed ?? this.#offers?.offer(exchange, backend, backends));
      const fallback = typeof offer === 'string' ? { fallback: offer } : {};
      exchange.delivered = { delivery: 'proxy', backend: backend.name, ...fallback };
      const failure = await proxyRequest(exchange, body, backend.link, {
        signal,
        onAnswered: answered,
        offer: typeof offer === 'string' ? undefined : offer,
        bodyOf: (response) => proxiedBody(exchange, response, backends),
        answer: begun?.answer,
      });
      begun = undefined;
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
