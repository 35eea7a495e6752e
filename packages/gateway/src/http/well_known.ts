import { pageLoaderResource } from '@sheaf/web-client/server';
import { WELL_KNOWN } from '@sheaf/web-client/protocol';
import type { Exchange, Target } from './exchange.js';
import { respondStatus, respondText, setHead } from './respond.js';

/** What a browser has to know to open a WebTransport session to this gateway. */
export interface GatewayDescription {
  /** SHA-256 of the certificate in use, in hexadecimal; empty for a certificate of a public authority. */
  hashes: string[];
  /** `host:port` of the QUIC listener, for pages that come from another port. */
  authority?: string;
}

/** Serves what lies below `/.well-known/sheaf/`: the gateway's description and the page loader. */
export class WellKnown implements Target {
  readonly #describe: (exchange: Exchange) => GatewayDescription;

  constructor(describe: (exchange: Exchange) => GatewayDescription) {
    this.#describe = describe;
  }

  async handle(exchange: Exchange): Promise<void> {
    const { method } = exchange.request;
    if (method !== 'GET' && method !== 'HEAD') {
      respondStatus(exchange, 405, { allow: 'GET, HEAD' });
      return;
    }
    if (exchange.pathname === WELL_KNOWN.certificate_hashes) {
      respondText(exchange, 200, `${JSON.stringify(this.#describe(exchange))}\n`, {
        'content-type': 'application/json',
        // Old after a renewal: a page has to ask each time.
        'cache-control': 'no-store',
        // A certificate is no secret, and pages of other origins may want to connect.
        'access-control-allow-origin': '*',
      });
      return;
    }
    const resource = await pageLoaderResource(exchange.pathname);
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
}
