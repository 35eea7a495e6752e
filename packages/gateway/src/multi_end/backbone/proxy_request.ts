import type { Readable } from 'node:stream';
import type { CancelSignal, ClientResponse, QuicError, WholeResponse, WholeResponses } from '@sheaf/native';
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
  /** Whether the node answered, and what the request offered came to nothing. It may get the request without an offer. */
  offered: boolean;
}

/** What a request offers to the other node beyond the response that it proxies */
export interface Offer {
  /** Headers that are added to the request */
  readonly headers: Readonly<Record<string, string>>;
  /** Which responses the other node sends itself */
  readonly whole: WholeResponses;
  /**
   * Takes a response that the other node sends itself. Throws when nothing was sent to the client, which may have another
   * response then. Otherwise calls `ended` once: when the client has the response or has left, or with the error when it is
   * incomplete.
   */
  take(response: WholeResponse, ended: (error?: Error) => void): void;
  /** Hears of any other response. */
  decline(response: ClientResponse): void;
  /** Takes the offer back, unless the other node sends the response. `asked`: it may have got the request. May be called more than once. */
  withdraw(asked: boolean): void;
  /**
   * Takes the offer back, and resolves when it is known whether the client may have another response: not if it has something
   * that the other node sent before it was lost.
   */
  settled(): Promise<boolean>;
}

export interface ProxyOptions {
  offer?: Offer | undefined;
  /** Abandons the request. */
  signal?: CancelSignal;
  /** Hears that the other node has answered. */
  onAnswered?(): void;
  /** What came of the request, where it was sent already. Such a request has no body. */
  answer?: WholeResponse | ClientResponse | Error | undefined;
  /** Returns the body that is forwarded in place of the response's own. */
  bodyOf?(response: ClientResponse): Readable;
}

/** Whether a response found that its client has given it up, before an event told so */
const clientLeft = (error: unknown): boolean => (error as Partial<QuicError>).code === 'CLIENT_LEFT';

const left = (): Error => new Error('the client has left');

/** Proxies a request to another node. Resolves with undefined when the client has a response, or has left. */
export async function proxyRequest(
  exchange: Exchange,
  body: ReceivedBody,
  link: BackboneLink,
  { signal = exchange.signal, onAnswered, bodyOf = (response) => response, offer, answer }: ProxyOptions = {},
): Promise<ProxyFailure | undefined> {
  let step: 'begin' | 'sent' | 'offered' | 'answered' = 'begin';
  const ask = async (): Promise<ClientResponse | WholeResponse> => {
    // A connection may be left while the client's bytes are on their way.
    const opened = await body.open();
    if (exchange.aborted) throw left();
    const client = await link.whenOpen(patienceMs);
    if (exchange.aborted) throw left();
    step = 'sent';
    exchange.trace?.passOn(link.server);
    const request = requestOf(exchange, signal, opened, offer?.headers);
    return offer ? client.requestWhole(request, offer.whole) : client.request(request);
  };
  try {
    if (answer) step = 'sent';
    if (answer instanceof Error) throw answer;
    const response = answer ?? (await ask());
    onAnswered?.();
    checkStatus(response);
    step = 'offered';
    if ('whole' in response) {
      await new Promise<void>((resolve, reject) => {
        offer?.take(response, (error) => (error ? reject(error) : resolve()));
        step = 'answered';
      });
      return undefined;
    }
    offer?.decline(response);
    step = 'answered';
    await answerWith(exchange, response, bodyOf(response));
    return undefined;
  } catch (error) {
    if (exchange.aborted) return undefined;
    exchange.trace?.failed(error);
    if (clientLeft(error)) {
      exchange.response.destroy();
      return undefined;
    }
    if (step === 'answered' || (step !== 'begin' && offer && !(await offer.settled()))) {
      // The reset tells the client that the body is incomplete.
      exchange.response.destroy(error as Error);
      return undefined;
    }
    if (respondBodyFault(exchange, error)) return undefined;
    return {
      error: new Error(errorMessage(error), { cause: error }),
      repeatable: step === 'begin' || mayProxyAgain(exchange.request, body, error),
      offered: step === 'offered',
    };
  } finally {
    offer?.withdraw(step !== 'begin');
  }
}
