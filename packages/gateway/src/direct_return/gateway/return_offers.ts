import { revokeOffer, type ClientResponse, type ServerRequest, type ServerResponse } from '@sheaf/native';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { headerValue, type Exchange } from '../../http/exchange.js';
import type { FallbackReason } from '../../http/fallback_reasons.js';
import type { Offer } from '../../multi_end/backbone/proxy_request.js';
import type { Offers } from '../../multi_end/primary/backend_route.js';
import type { BackendWatch } from '../../multi_end/primary/backend_watch.js';
import type { BackendsInTurn } from '../../multi_end/primary/backends_in_turn.js';
import { restFrom } from '../../multi_end/primary/proxied_body.js';
import { networkOf } from '../../values/client_network.js';
import {
  acceptedHeader,
  declinedHeader,
  decodeAcceptedHeader,
  decodeDeclinedHeader,
  grantHeader,
  type Accepted,
  type DeclineReason,
} from '../protocol/return_headers.js';
import type { ReturnLink } from './return_link.js';
import { continueBody, handOff, readHead, type LostBody } from './returned_response.js';

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
  /** The sessions by the names of their backends */
  links: ReadonlyMap<string, ReturnLink>;
  log: Logger;
}

/** What a backend sends itself in the place of the gateway */
interface Returned {
  response: ClientResponse;
  accepted: Accepted & { length: number };
  /** Name of the backend */
  backend: string;
  backends: BackendsInTurn;
}

/** Lets backends send the responses of a gateway's routes. */
export class ReturnOffers implements Offers {
  readonly #options: ReturnOffersOptions;
  /** A grant costs more than a small response, so none is offered where a backend has just said that the response is small. */
  readonly #small = new LRUCache<string, true>({ max: smallOnes, ttl: smallMs });

  /** Networks of clients that nothing of a backend reaches */
  readonly #unreachable = new LRUCache<string, true>({ max: unreachableNetworks, ttl: unreachableMs });

  constructor(options: ReturnOffersOptions) {
    this.#options = options;
  }

  offer(exchange: Exchange, backend: BackendWatch, backends: BackendsInTurn): Offer | FallbackReason {
    const obstacle = obstacleIn(exchange);
    if (obstacle) return obstacle;
    const url = exchange.request.authority + exchange.pathname + exchange.search;
    if (this.#small.has(url)) return 'small';
    const link = this.#options.links.get(backend.name);
    if (!link?.open) return backend.returns ? 'no-runs' : 'no-return';
    if (this.#unreachable.has(wayOf(backend.name, exchange))) return 'unreachable';
    // The body of a request of HTTP/3 is the request itself.
    const request = exchange.request.body as ServerRequest;
    const grant = link.grant(request);
    if ('refusal' in grant) return grant.refusal;
    return {
      headers: { [grantHeader]: grant.header },
      take: (response) => {
        const accepted = acceptedOf(response);
        if (accepted) return this.#handOff(exchange, { response, accepted, backend: backend.name, backends });
        const declined = declinedBecause(response);
        // A part may be small, too.
        if (declined === 'small' && response.status === 200 && url.length <= longestUrl) this.#small.set(url, true);
        exchange.delivered = { delivery: 'proxy', backend: backend.name, fallback: declined ?? 'response' };
        return undefined;
      },
      withdraw: () => revokeOffer(request),
    };
  }

  async #handOff(exchange: Exchange, returned: Returned): Promise<void> {
    const { backend } = returned;
    const { status, length } = returned.accepted;
    const response = exchange.response as unknown as ServerResponse;
    const head = await readHead(returned.response);
    if (exchange.aborted) return;
    response.statusCode = status;
    const ended = handOff(response, head, length);
    const delivered = { delivery: 'return', backend } as const;
    exchange.delivered = delivered;
    // The backend has answered the request of the backbone, so that another one may have its place.
    returned.backends.leave();
    const lost = await ended;
    const returnedBytes = lost?.received ?? length;
    exchange.bytesSent += returnedBytes;
    exchange.delivered = { ...delivered, ...(lost && { fallback: lost.reason }), returnedBytes };
    if (lost && !exchange.aborted) await this.#continue(exchange, returned, lost);
  }

  /** Sends the rest itself, from another backend that has the same representation. */
  async #continue(exchange: Exchange, { accepted, backend, backends }: Returned, lost: LostBody): Promise<void> {
    const { length, first, tag } = accepted;
    const { reason, received } = lost;
    if (reason === 'unreachable') this.#unreachable.set(wayOf(backend, exchange), true);
    this.#options.log.warn(
      { backend, path: exchange.pathname, reason, received, length },
      'a backend sends no more of a response',
    );
    if (first === undefined || tag === undefined)
      throw new Error('a body without a position and a strong entity tag cannot be continued');
    const resumption = { etag: tag, first, last: first + length - 1 };
    const rest = received === length ? [] : await restFrom(exchange, resumption, received, backends);
    if (!rest) throw new Error('no other backend has the rest of the body');
    await continueBody(exchange.response as unknown as ServerResponse, lost, length, counted(rest, exchange));
  }
}

async function* counted(chunks: Iterable<Buffer> | AsyncIterable<Buffer>, exchange: Exchange): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    exchange.bytesSent += chunk.length;
    yield chunk;
  }
}

const wayOf = (backend: string, { request }: Exchange): string => `${backend} ${networkOf(request.remoteAddress)}`;

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

function declinedBecause({ headers }: ClientResponse): DeclineReason | undefined {
  return decodeDeclinedHeader(headerValue(headers, declinedHeader) ?? '');
}

function acceptedOf({ headers }: ClientResponse): (Accepted & { length: number }) | undefined {
  const value = headerValue(headers, acceptedHeader);
  const accepted = value === undefined ? undefined : decodeAcceptedHeader(value);
  return accepted?.length === undefined ? undefined : { ...accepted, length: accepted.length };
}
