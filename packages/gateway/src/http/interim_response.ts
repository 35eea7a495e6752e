import type { Exchange, RequestHeaders } from './exchange.js';
import { withoutHopByHop } from './forwarded_headers.js';

/** Nobody needs more, and each costs the client's connection something. */
export const maxInterimResponses = 32;

/** Passes interim responses (RFC 9110 §15.2) of the next server on to the client. */
export class InterimRelay {
  #count = 0;

  constructor(private readonly exchange: Exchange) {}

  /** False once there are more than anybody needs. */
  pass(status: number, headers: RequestHeaders): boolean {
    this.#count += 1;
    if (this.#count > maxInterimResponses) return false;
    const { response, aborted } = this.exchange;
    // This hop's own business: nobody asked the next server for a 100, and a 101 has no meaning for the client.
    if (status === 100 || status === 101 || aborted || response.headersSent) return true;
    try {
      response.writeInformational?.(status, withoutHopByHop(headers));
    } catch {
      // A field that the client's version does not allow: what matters is the final response.
    }
    return true;
  }
}
