import { setTimeout as sleep } from 'node:timers/promises';
import {
  offerDoubt,
  revokeOffer,
  type ClientResponse,
  type ServerRequest,
  type ServerResponse,
  type WholeResponse,
} from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../../errors/user_error.js';
import { returned, type Delivered } from '../../http/delivered.js';
import { headerValue, type Exchange } from '../../http/exchange.js';
import type { Resumption } from '../../http/resumable_body.js';
import type { Offer } from '../../multi_end/backbone/proxy_request.js';
import type { BackendWatch } from '../../multi_end/primary/backend_watch.js';
import type { BackendsInTurn } from '../../multi_end/primary/backends_in_turn.js';
import { resumedFrom, restFrom } from '../../multi_end/primary/proxied_body.js';
import { routesHeader } from '../../multi_end/protocol/route_map.js';
import {
  acceptedHeader,
  declinedHeader,
  decodeAcceptedHeader,
  decodeDeclinedHeader,
  grantHeader,
  isHead,
  maxHead,
  type Accepted,
  type DeclineReason,
} from '../protocol/return_headers.js';
import type { LossReport } from './loss_report.js';
import type { Granted } from './return_link.js';
import { continueBody, handOff, type Ended, type LostBody } from './returned_response.js';

/** Time in milliseconds between looks at what a client has of a response whose backend was lost before its answer */
const doubtMs = 20;

export interface ReturnOfferOptions {
  exchange: Exchange;
  backend: BackendWatch;
  backends: BackendsInTurn;
  grant: Granted;
  log: Logger;
  losses: LossReport;
  /** Hears that the backend sends the response through the gateway. */
  onDeclined(response: ClientResponse, reason: DeclineReason | undefined): void;
  /** Hears that nothing of the backend reaches the client. */
  onUnreachable(): void;
}

/** What lets the rest of a response come from another node */
type Continuable = Accepted & { length: number };

/** Offers a backend to send one response itself. Takes the grant back unless the backend does. */
export class ReturnOffer implements Offer {
  readonly headers: Readonly<Record<string, string>>;
  readonly whole = { field: acceptedHeader, bytes: maxHead };
  readonly #options: ReturnOfferOptions;
  #open = true;

  constructor(options: ReturnOfferOptions) {
    this.#options = options;
    const routes = options.exchange.response.getHeader(routesHeader);
    // The gateway adds this to its responses. It cannot add anything to what a backend sends.
    this.headers = {
      [grantHeader]: options.grant.header,
      ...(routes !== undefined && { [routesHeader]: String(routes) }),
    };
  }

  decline(received: ClientResponse): void {
    const { exchange, backend, onDeclined } = this.#options;
    this.withdraw(false);
    const reason = decodeDeclinedHeader(headerValue(received.headers, declinedHeader) ?? '');
    onDeclined(received, reason);
    exchange.delivered = { delivery: 'proxy', backend: backend.name, fallback: reason ?? 'response' };
  }

  take({ headers, whole: head }: WholeResponse, ended: (error?: Error) => void): void {
    const { exchange, backends } = this.#options;
    const value = headerValue(headers, acceptedHeader) ?? '';
    const accepted = continuable(decodeAcceptedHeader(value));
    if (!accepted)
      throw new Error(`the backend accepts a grant with \`${value.slice(0, 200)}\`, which this gateway does not know`);
    if (!isHead(head)) throw new Error('the backend sent no head of a response');
    if (exchange.aborted) throw new Error('the client has left');
    this.#handOff(head, accepted, ended);
    this.#open = false;
    exchange.delivered = this.#delivered;
    // The backend has answered the request of the backbone, so that another one may have its place.
    backends.leave();
  }

  withdraw(asked: boolean): void {
    if (!this.#open) return;
    this.#open = false;
    revokeOffer(this.#request, !asked);
  }

  async settled(): Promise<boolean> {
    this.withdraw(true);
    for (let doubt = offerDoubt(this.#request); doubt !== 'none'; doubt = offerDoubt(this.#request)) {
      if (doubt === 'taken' || this.#options.exchange.aborted) return false;
      await sleep(doubtMs);
    }
    return true;
  }

  /** The body of a request of HTTP/3 is the request itself. */
  get #request(): ServerRequest {
    return this.#options.exchange.request.body as ServerRequest;
  }

  #handOff(head: Buffer, accepted: Continuable, ended: (error?: Error) => void): void {
    const { exchange, backend } = this.#options;
    if (!backend.returning.enter(exchange, performance.now()))
      throw new Error('the backend sends as many responses as it may');
    try {
      handOff(this.#response, head, accepted.length, (end) => this.#onEnded(end, accepted, ended));
      this.#response.statusCode = accepted.status;
    } catch (error) {
      backend.returning.leave(exchange);
      throw error;
    }
  }

  get #delivered(): Delivered {
    const { backend, grant } = this.#options;
    return returned(grant.recovery, backend.name);
  }

  get #response(): ServerResponse {
    return this.#options.exchange.response as unknown as ServerResponse;
  }

  #onEnded(end: Ended, accepted: Continuable, ended: (error?: Error) => void): void {
    const { exchange, backend, log } = this.#options;
    backend.returning.leave(exchange);
    const { received, reason } = end;
    exchange.bytesSent += received;
    exchange.delivered = { ...this.#delivered, ...(reason && { fallback: reason }), returnedBytes: received };
    if (!reason || exchange.aborted) return ended();
    this.#continue(accepted, { ...end, reason }).then(
      () => ended(),
      (error: unknown) => {
        const { pathname: path, aborted } = exchange;
        if (!aborted)
          log.warn(
            { backend: backend.name, path, error: errorMessage(error) },
            'a response is reset, as its rest is missing',
          );
        ended(error instanceof Error ? error : new Error(errorMessage(error)));
      },
    );
  }

  /** Sends the rest itself, from a backend that has the same representation. */
  async #continue({ length, first, tag }: Continuable, lost: LostBody): Promise<void> {
    const { exchange, backend, backends, losses, onUnreachable } = this.#options;
    const { reason, received } = lost;
    losses.add(backend.name, { path: exchange.pathname, reason, received, length });
    if (reason === 'unreachable') onUnreachable();
    if (reason === 'silent') backend.noteSilence();
    if (first === undefined || tag === undefined)
      throw new Error('a body without a position and a strong entity tag cannot be continued');
    // A backend that is heard may proxy what it cannot send itself.
    backends.again(reason !== 'silent' && backend.link.client !== undefined ? 'first' : 'last');
    const resumption = { etag: tag, first: first + received, last: first + length - 1 };
    const rest = received === length ? [] : await this.#rest(resumption);
    if (!rest) throw new Error('no backend has the rest of the body');
    await continueBody(this.#response, lost, length, counted(rest, exchange));
  }

  async #rest(resumption: Resumption): Promise<AsyncIterable<Buffer> | undefined> {
    const { exchange, backends } = this.#options;
    const response = await restFrom(exchange, resumption, 0, backends);
    return response && resumedFrom(exchange, response, resumption, backends);
  }
}

/** Returns undefined for what no backend of this version accepts: a body that is empty, or whose length is not known. */
function continuable(accepted: Accepted | undefined): Continuable | undefined {
  return accepted?.length ? { ...accepted, length: accepted.length } : undefined;
}

async function* counted(chunks: Iterable<Buffer> | AsyncIterable<Buffer>, exchange: Exchange): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    exchange.bytesSent += chunk.length;
    yield chunk;
  }
}
