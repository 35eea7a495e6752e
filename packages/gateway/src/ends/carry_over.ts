import type { BackboneLink } from '../backbone/backbone_link.js';
import { errorMessage } from '../errors/user_error.js';
import { answerWith, checkStatus, mayRepeat, requestOf } from '../http/carried_request.js';
import type { Exchange } from '../http/exchange.js';

/** How long a request waits for a connection of the backbone to come up. */
const patienceMs = 2_000;

/** What went wrong before anything was passed on. */
export interface CarryFailure {
  error: unknown;
  /** Another node may have the request. */
  repeatable: boolean;
}

/** Carries a request to another node and its answer back; undefined when the client has an answer, or has left. */
export async function carryOver(exchange: Exchange, link: BackboneLink): Promise<CarryFailure | undefined> {
  let sent = false;
  let answered = false;
  try {
    const client = await link.whenOpen(patienceMs);
    if (exchange.aborted) return undefined;
    sent = true;
    const response = await client.request(requestOf(exchange));
    checkStatus(response);
    answered = true;
    await answerWith(exchange, response);
    return undefined;
  } catch (error) {
    if (exchange.aborted) return undefined;
    if (!answered) return { error: new Error(errorMessage(error), { cause: error }), repeatable: !sent || mayRepeat(exchange.request, error) };
    // The client learns by a reset that the body is not complete.
    exchange.response.destroy(error as Error);
    return undefined;
  }
}
