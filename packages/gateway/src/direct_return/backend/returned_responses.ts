import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import {
  encodeHead,
  type Executor,
  type ReturnedBody,
  type ReturnedPayload,
  type ReturnRecovery,
  type ServerRequest,
  type ServerResponse,
} from '@sheaf/native';
import type { Logger } from 'pino';
import { deliveryTiming, returned } from '../../http/delivered.js';
import { headerValue, type BodyTaker, type Exchange, type GatewayResponse } from '../../http/exchange.js';
import { timingHeader } from '../../http/respond.js';
import { resumptionOf } from '../../http/resumable_body.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import { routesHeader } from '../../multi_end/protocol/route_map.js';
import {
  acceptedHeader,
  declinedHeader,
  decodeGrantHeader,
  encodeAcceptedHeader,
  grantHeader,
  isHead,
  type DeclineReason,
} from '../protocol/return_headers.js';
import { grantRecovery, grantSource } from '../protocol/grant_source.js';
import { GrantRefused, type GrantOpener } from '../protocol/sealed_grant.js';
import { AppendedBody } from './appended_body.js';

/** What one gateway lets this backend send */
export interface Session {
  executor: Executor;
  /** Opens grants; undefined until the gateway has told its key */
  opener: GrantOpener | undefined;
}

export interface ReturnedResponsesOptions {
  /** Name of this backend */
  name: string;
  /** The newest first */
  sessions(): readonly Session[];
  /** Whether this backend takes no more responses, since it is about to stop */
  draining(): boolean;
  log: Logger;
}

/** H3_REQUEST_CANCELLED (RFC 9114 §8.1) */
const H3_REQUEST_CANCELLED = 0x10c;

/** Time in milliseconds after which a refusal is written to the log again */
const warningMs = 60_000;

/** Answers requests with a grant from the gateway's address. */
export class ReturnedResponses {
  readonly #options: ReturnedResponsesOptions;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReturnedResponsesOptions) {
    this.#options = options;
  }

  /** Lets the response to this request go past it, if the request brings a grant. Others stay as they are. */
  prepare(request: ServerRequest, response: ServerResponse): void {
    const header = headerValue(request.headers, grantHeader);
    const sealed = header === undefined || request.method !== 'GET' ? undefined : decodeGrantHeader(header);
    if (!sealed) return;
    const asked = { response, sealed, askedAt: performance.now() };
    const taker: BodyTaker = {
      takeFile: (exchange, file, range) => this.#takeFile({ exchange, ...asked }, file, range),
      takeBytes: (exchange, bytes) => this.#takeBytes({ exchange, ...asked }, bytes),
      takeStream: (exchange, source, length) => this.#takeStream({ exchange, ...asked }, source, length),
    };
    (response as unknown as GatewayResponse).taker = taker;
  }

  async #takeFile(answer: Answer, file: FileHandle, { start, end }: { start: number; end: number }): Promise<boolean> {
    const body = this.#accept(answer, end - start, { descriptor: file.fd, position: start });
    if (!body) return false;
    await file.close();
    await this.#sent(answer, body);
    return true;
  }

  async #takeBytes(answer: Answer, bytes: Buffer): Promise<boolean> {
    const body = this.#accept(answer, bytes.length, bytes);
    if (body) await this.#sent(answer, body);
    return body !== undefined;
  }

  async #takeStream(answer: Answer, source: Readable, length: number | undefined): Promise<boolean> {
    const body = this.#accept(answer, length, undefined);
    if (!body || length === undefined) return false;
    const { exchange } = answer;
    const appended = new AppendedBody(body, length);
    exchange.taken = appended;
    const read = appended.appendAll(source, exchange).finally(() => (exchange.taken = undefined));
    await Promise.all([read, this.#sent(answer, body)]);
    return true;
  }

  /** Waits until a body is over, and counts it for the log. */
  async #sent({ exchange }: Answer, { over }: ReturnedBody): Promise<void> {
    const returnedBytes = await over;
    exchange.bytesSent = returnedBytes;
    exchange.delivered = { delivery: 'return', ...exchange.delivered, returnedBytes };
  }

  /** Accepts the grant and tells the gateway so; otherwise says why not, in a header of the response. */
  #accept(answer: Answer, length: number | undefined, from: ReturnedPayload['from']): ReturnedBody | undefined {
    const { exchange, response } = answer;
    const begun = response.destroyed ? 'refused' : this.#use(answer, length, from);
    if (typeof begun === 'string') {
      response.setHeader(declinedHeader, begun);
      return undefined;
    }
    const { body, recovery } = begun;
    exchange.delivered = returned(recovery);
    // The gateway left before it knew.
    response.once('close', () => {
      if (!response.writableFinished) body.fail(H3_REQUEST_CANCELLED);
    });
    return body;
  }

  #use(answer: Answer, length: number | undefined, bytes: ReturnedPayload['from']): Begun | DeclineReason {
    if (length === undefined) return 'unknown';
    if (length === 0) return 'small';
    if (this.#options.draining()) return 'draining';
    const { response, sealed, askedAt } = answer;
    const { statusCode: status } = response;
    let grant: Buffer | undefined;
    let from: string | undefined;
    try {
      const opened = open(sealed, this.#options.sessions());
      ({ grant } = opened);
      from = grantSource(grant);
      const recovery = grantRecovery(grant);
      const headers = this.#headersOf(answer, recovery);
      // All that can fail comes before the grant is accepted.
      const accepted = describe(status, headers, length);
      const head = encodeHead(status, headers);
      if (!accepted || !head || !isHead(head)) return 'unknown';
      const waited = performance.now() - askedAt;
      const body = opened.executor.accept(grant, { head, length, from: bytes, waited });
      // Leaves before a first packet: the gateway then knows how the response begins that the client has.
      answerWith(response, accepted, head);
      // What the log calls the status is the client's.
      response.statusCode = status;
      return { body, recovery };
    } catch (error) {
      const code = error instanceof GrantRefused ? 'GRANT_REFUSED' : systemErrorCode(error);
      if (code === 'NO_ROOM') return 'busy';
      if (code !== 'GRANT_REFUSED' && code !== 'FOREIGN_ADDRESS') throw error;
      this.#warn(errorMessage(error), code === 'FOREIGN_ADDRESS' ? from : undefined);
      return 'refused';
    } finally {
      // It contains keys, which nobody needs any more.
      grant?.fill(0);
    }
  }

  /** Returns the headers of the response with what the gateway adds to its own, and an entry about the response's way. */
  #headersOf({ exchange, response }: Answer, recovery: ReturnRecovery): Record<string, string | string[]> {
    const headers = headersOf(response);
    const way = deliveryTiming(returned(recovery, this.#options.name));
    const routes = headerValue(exchange.request.headers, routesHeader);
    return {
      ...headers,
      ...(routes !== undefined && { [routesHeader]: routes }),
      [timingHeader]: [headers[timingHeader] ?? [], way ?? []].flat().join(', '),
    };
  }

  /** A fault in the configuration concerns every request. `from` is an address of a gateway that this node may not send from. */
  #warn(reason: string, from: string | undefined): void {
    const now = performance.now();
    const rare = now - this.#warnedAt >= warningMs;
    if (rare) this.#warnedAt = now;
    const advice = from !== undefined && {
      from,
      hint: 'if clients reach the gateway there, add it to `return.from`',
    };
    this.#options.log[rare ? 'warn' : 'debug']({ reason, ...advice }, 'a grant is refused');
  }
}

/** A response that this node sends to the client itself */
interface Begun {
  body: ReturnedBody;
  recovery: ReturnRecovery;
}

/** A response that may go past this node */
interface Answer {
  exchange: Exchange;
  response: ServerResponse;
  /** The grant */
  sealed: Buffer;
  /** Time of `performance.now()` at which it came */
  askedAt: number;
}

/**
 * Opens a grant. While a gateway is replaced there are sessions with the old and the new one; the grant is of the one whose key
 * opens it. @throws GrantRefused
 */
function open(sealed: Buffer, sessions: readonly Session[]): { executor: Executor; grant: Buffer } {
  for (const { executor, opener } of sessions) {
    try {
      const grant = opener?.open(sealed);
      if (grant) return { executor, grant };
    } catch (error) {
      if (!(error instanceof GrantRefused) || error.refusal !== 'unreadable') throw error;
    }
  }
  throw new GrantRefused('unreadable');
}

/** Answers the gateway with the head of the response that this node sends itself. */
function answerWith(response: ServerResponse, accepted: string, head: Buffer): void {
  for (const name of Object.keys(headersOf(response))) response.removeHeader(name);
  response.statusCode = 200;
  response.setHeader(acceptedHeader, accepted);
  response.setHeader('content-length', head.length);
  response.end(head);
}

const headersOf = (response: ServerResponse): Record<string, string | string[]> =>
  (response as ServerResponse & { getHeaders(): Record<string, string | string[]> }).getHeaders();

/** Returns what the gateway is told about a response, by which another node can go on with it; undefined when none could. */
function describe(status: number, headers: Record<string, string | string[]>, length: number): string | undefined {
  const part = resumptionOf('GET', { status, headers });
  if (!part || (part.last !== undefined && part.last - part.first + 1 !== length)) return undefined;
  try {
    return encodeAcceptedHeader({ status, length, first: part.first, tag: part.etag });
  } catch {
    return undefined; // the tag is of a form that the header does not carry
  }
}
