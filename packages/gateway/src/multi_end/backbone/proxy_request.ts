import type { Readable } from 'node:stream';
import type { ClientResponse } from '@sheaf/native';
import type { BackboneLink } from './backbone_link.js';
import { errorMessage } from '../../errors/user_error.js';
import { answerWith, checkStatus, mayProxyAgain, requestOf } from '../../http/proxied_request.js';
import type { Exchange } from '../../http/exchange.js';
import { respondBodyFault, type ReceivedBody } from '../../http/received_body.js';

/** Time in milliseconds that a request waits for a backbone connection to open */
export const patienceMs = 2_000;

/** A failure before anything was forwarded to the client */
export interface ProxyFailure {
  error: unknown;
  /** Whether another node may get the request */
  repeatable: boolean;
}

/** What a request offers to the other node beyond the response that it proxies */
export interface Offer {
  /** Headers that are added to the request */
  readonly headers: Readonly<Record<string, string>>;
  /** Takes a response that the other node sends itself. Returns undefined for any other response. */
  take(response: ClientResponse): Promise<void> | undefined;
  /** The other node did not take the offer. */
  withdraw(): void;
}

export interface ProxyOptions {
  offer?: Offer | undefined;
  /** Abandons the request. */
  signal?: AbortSignal;
  /** Returns the body that is forwarded in place of the response's own. */
  bodyOf?(response: ClientResponse): Readable;
}

/** Proxies a request to another node. Resolves with undefined when the client has a response, or has left. */
export async function proxyRequest(
  exchange: Exchange,
  body: ReceivedBody,
  link: BackboneLink,
  { signal = exchange.signal, bodyOf = (response) => response, offer }: ProxyOptions = {},
): Promise<ProxyFailure | undefined> {
  let sent = false;
  let answered = false;
  try {
    const client = await link.whenOpen(patienceMs);
    if (exchange.aborted) return undefined;
    const opened = await body.open();
    sent = true;
    const request = requestOf(exchange, opened);
    const response = await client.request({ ...request, headers: { ...request.headers, ...offer?.headers }, signal });
    checkStatus(response);
    answered = true;
    const taken = offer?.take(response);
    if (taken) return await taken.then(() => undefined);
    offer?.withdraw();
    await answerWith(exchange, response, bodyOf(response));
    return undefined;
  } catch (error) {
    if (!answered) offer?.withdraw();
    if (exchange.aborted) return undefined;
    if (!answered && respondBodyFault(exchange, error)) return undefined;
    if (!answered)
      return {
        error: new Error(errorMessage(error), { cause: error }),
        repeatable: !sent || mayProxyAgain(exchange.request, body, error),
      };
    // The reset tells the client that the body is incomplete.
    exchange.response.destroy(error as Error);
    return undefined;
  }
}
