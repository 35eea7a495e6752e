import type { Exchange, RequestHeaders } from './exchange.js';
import { withoutHopByHop } from './forwarded_headers.js';

/** Bound on interim responses to one request. No client needs more, and each costs the client's connection memory. */
export const maxInterimResponses = 32;

/** Forwards interim responses (RFC 9110 §15.2) of the next server to the client. */
export class InterimRelay {
  #count = 0;

  constructor(private readonly exchange: Exchange) {}

  /** Forwards one interim response. Returns false once there were too many. */
  pass(status: number, headers: RequestHeaders): boolean {
    this.#count += 1;
    if (this.#count > maxInterimResponses) return false;
    const { response, aborted } = this.exchange;
    // The gateway did not ask for a 100, and a 101 concerns only its own connection to the next server.
    if (status === 100 || status === 101 || aborted || response.headersSent) return true;
    try {
      response.writeInformational?.(status, withoutHopByHop(headers));
    } catch {
      // The client's HTTP version does not allow a field. Only the final response matters.
    }
    return true;
  }
}
