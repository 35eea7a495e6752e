import type { ServerConnection, ServerRequest } from '@sheaf/native';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { headerValue, type Exchange } from '../../http/exchange.js';
import { fallbackReasons, type FallbackReason } from '../../http/fallback_reasons.js';
import type { Offer } from '../../multi_end/backbone/proxy_request.js';
import type { Offers } from '../../multi_end/primary/backend_route.js';
import type { BackendWatch } from '../../multi_end/primary/backend_watch.js';
import type { BackendsInTurn } from '../../multi_end/primary/backends_in_turn.js';
import type { Delivery } from '../../schema/delivery.js';
import { networkOf } from '../../values/client_network.js';
import { LossReport } from './loss_report.js';
import type { ReturnLink } from './return_link.js';
import { ReturnOffer } from './return_offer.js';

/** Number of small representations that are remembered, by their URLs */
const smallOnes = 10_000;
/** Time in milliseconds for which they are */
const smallMs = 60_000;
/** Clients choose URLs, and may choose long ones. Those above this number of characters are not remembered. */
const longestUrl = 512;

/** Number of networks that are remembered because nothing of a backend reached their clients */
const unreachableNetworks = 10_000;
/** Time in milliseconds for which they are */
const unreachableMs = 600_000;

export interface ReturnOffersOptions {
  /** Returns the session with a backend. */
  linkOf(backend: BackendWatch): ReturnLink | undefined;
  log: Logger;
}

/** Lets backends send the responses of a gateway's routes. */
export class ReturnOffers implements Offers {
  readonly #options: ReturnOffersOptions;
  readonly #losses: LossReport;
  /** A grant costs more than a small response, so none is offered where a backend has just said that the response is small. */
  readonly #small = new LRUCache<string, true>({ max: smallOnes, ttl: smallMs });

  /** Networks of clients that nothing of a backend reaches */
  readonly #unreachable = new LRUCache<string, true>({ max: unreachableNetworks, ttl: unreachableMs });

  /** Backends of which the log has told so. There are as many networks as clients where nothing passes at all. */
  readonly #warned = new LRUCache<string, true>({ max: 1_000, ttl: unreachableMs });

  constructor(options: ReturnOffersOptions) {
    this.#options = options;
    this.#losses = new LossReport(options.log);
  }

  /**
   * Returns the offers of a route with these ways of delivery. Clients that may ask the backends themselves get none: their
   * next path would end the response.
   */
  of(ways: readonly Delivery[]): Offers {
    if (!ways.includes('path')) return this;
    return {
      offer: (exchange, backend, backends) =>
        speaksMultiEnd(exchange) ? 'multi-end' : this.offer(exchange, backend, backends),
    };
  }

  offer(exchange: Exchange, backend: BackendWatch, backends: BackendsInTurn): Offer | FallbackReason {
    const { linkOf, log } = this.#options;
    const obstacle = obstacleIn(exchange);
    if (obstacle) return obstacle;
    const url = exchange.request.authority + exchange.pathname + exchange.search;
    if (this.#small.has(url)) return 'small';
    const link = linkOf(backend);
    if (!link?.open) return backend.returns ? 'no-runs' : 'no-return';
    // The body of a request of HTTP/3 is the request itself.
    const request = exchange.request.body as ServerRequest;
    const way = wayOf(backend.name, request);
    if (this.#unreachable.has(way)) return 'unreachable';
    if (!backend.returning.makeRoom(exchange, performance.now())) return 'busy';
    const grant = link.grant(request);
    if ('refusal' in grant) return grant.refusal;
    return new ReturnOffer({
      exchange,
      backend,
      backends,
      grant,
      log,
      losses: this.#losses,
      onDeclined: ({ status }, reason) => {
        // A part may be small, too.
        if (reason === 'small' && status === 200 && url.length <= longestUrl) this.#small.set(url, true);
      },
      onUnreachable: () => this.#remember(way, backend.name, request),
    });
  }

  #remember(way: string, backend: string, { remoteAddress }: ServerRequest): void {
    this.#unreachable.set(way, true);
    const level = this.#warned.has(backend) ? 'debug' : 'warn';
    this.#warned.set(backend, true);
    this.#options.log[level](
      {
        backend,
        network: networkOf(remoteAddress.address),
        minutes: unreachableMs / 60_000,
        hint: fallbackReasons.unreachable.fix,
      },
      'nothing that a backend sends from the address of this gateway reaches a network, whose responses are proxied for a while',
    );
  }
}

const speaksMultiEnd = ({ request }: Exchange): boolean =>
  (request.connection as Partial<ServerConnection> | undefined)?.multiEnd === true;

/** Packets do not take the way of a request that a proxy brought, so its own statement does not count. */
const wayOf = (backend: string, { remoteAddress }: ServerRequest): string =>
  `${backend} ${networkOf(remoteAddress.address)}`;

/** Returns why no backend may send the response to such a request. */
function obstacleIn({ request, response }: Exchange): FallbackReason | undefined {
  // A grant has the keys of the connection that brought the request, which is another node's then.
  if (request.passedOn) return 'passed-on';
  if (request.carriedBy !== undefined) return 'page-session';
  if (request.httpVersion !== '3' || !('handOff' in response)) return 'http-version';
  if (request.method !== 'GET') return 'method';
  if (request.early) return 'early-data';
  return headerValue(request.headers, 'content-length') === undefined ? undefined : 'request-body';
}
