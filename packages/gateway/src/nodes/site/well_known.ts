import { pageLoaderResource, type PageLoaderSwitch } from '@sheaf/web-client/server';
import { WELL_KNOWN, type GatewayDescription, type PathReport, type ResponseReport } from '@sheaf/web-client/protocol';
import type { Exchange, Target } from '../../http/exchange.js';
import { respondLease } from '../../multi_end/protocol/lease.js';
import { respondStatus, respondText, setHead } from '../../http/respond.js';

/** Headers of JSON that changes all the time */
const changing = { 'content-type': 'application/json', 'cache-control': 'no-store' };

/** Optional resources of a node; absent ones are not served */
export interface ToldOnRequest {
  paths?: (() => readonly PathReport[]) | undefined;
  responses?: (() => readonly ResponseReport[]) | undefined;
  routes?: Target | undefined;
  /** `off`: browsers that have the page loader remove it. */
  pageLoader?: PageLoaderSwitch;
}

/** Serves the resources below `/.well-known/sheaf/`: the gateway's description and the page loader. */
export class WellKnown implements Target {
  readonly #describe: (exchange: Exchange) => GatewayDescription;
  readonly #told: ToldOnRequest;

  constructor(describe: (exchange: Exchange) => GatewayDescription, told: ToldOnRequest = {}) {
    this.#describe = describe;
    this.#told = told;
  }

  async handle(exchange: Exchange): Promise<void> {
    const { method } = exchange.request;
    if (method !== 'GET' && method !== 'HEAD') {
      respondStatus(exchange, 405, { allow: 'GET, HEAD' });
      return;
    }
    if (exchange.pathname === WELL_KNOWN.routes && this.#told.routes) return this.#told.routes.handle(exchange);
    if (exchange.pathname === WELL_KNOWN.lease) {
      respondLease(exchange);
      return;
    }
    if (exchange.pathname === WELL_KNOWN.paths && this.#told.paths) {
      respondToOwnPages(exchange, { paths: this.#told.paths() });
      return;
    }
    if (exchange.pathname === WELL_KNOWN.responses && this.#told.responses) {
      respondToOwnPages(exchange, { responses: this.#told.responses() });
      return;
    }
    if (exchange.pathname === WELL_KNOWN.certificate_hashes) {
      respondText(exchange, 200, `${JSON.stringify(this.#description(exchange))}\n`, {
        ...changing,
        // A certificate is no secret, and pages of other origins may want to connect.
        'access-control-allow-origin': '*',
      });
      return;
    }
    const resource = await pageLoaderResource(exchange.pathname, this.#told.pageLoader);
    if (!resource) {
      respondStatus(exchange, 404);
      return;
    }
    setHead(exchange, 200, { ...resource.headers, 'content-length': resource.body.length });
    if (method === 'HEAD') {
      exchange.response.end();
      return;
    }
    exchange.bytesSent += resource.body.length;
    exchange.response.end(resource.body);
  }

  /**
   * Describes the gateway. The worker of a page cannot see its visitor's cookies, so it is told whether there are any.
   */
  #description(exchange: Exchange): GatewayDescription {
    const { cookie, authorization } = exchange.request.headers;
    return {
      ...this.#describe(exchange),
      ...((cookie ?? authorization) !== undefined && { credentials: true }),
      ...(this.#told.pageLoader === 'off' && { page_loader: 'off' as const }),
    };
  }
}

/** Answers only pages of this origin, since the value contains addresses, and what other clients receive. */
function respondToOwnPages(exchange: Exchange, value: object): void {
  respondText(exchange, 200, `${JSON.stringify(value)}\n`, {
    ...changing,
    'cross-origin-resource-policy': 'same-origin',
  });
}
