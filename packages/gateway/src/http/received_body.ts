import type { ServerRequest } from '@sheaf/native';
import { constants, type Http2ServerRequest } from 'node:http2';
import { headerValue, type Exchange, type GatewayRequest } from './exchange.js';
import { respondStatus } from './respond.js';

/** A request body exceeded its limit: the client gets 413. */
export class BodyTooLarge extends Error {
  constructor(limit: number) {
    super(`request body above ${limit} bytes`);
    this.name = 'BodyTooLarge';
  }
}

/** The client did not send its body in time: the client gets 408. */
export class BodyTimeout extends Error {
  constructor() {
    super('the client does not send its body');
    this.name = 'BodyTimeout';
  }
}

/** Returns the declared length of the body; undefined when the request declares none. */
export function declaredLength(request: GatewayRequest): number | undefined {
  const text = headerValue(request.headers, 'content-length');
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Methods whose requests rarely have a body, but may have one (RFC 9110 §9.3) */
const usuallyWithout = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE']);

/** Returns whether a body follows the headers; undefined when only reading it tells. */
function announcesBody(request: GatewayRequest): boolean | undefined {
  if (request.bodyless) return false;
  const length = declaredLength(request);
  if (length !== undefined) return length > 0;
  if (request.headers['transfer-encoding'] !== undefined) return true;
  if (Number(request.httpVersion) < 2) return false;
  if (!usuallyWithout.has(request.method)) return true;
  return isEmpty(request) ? false : undefined;
}

/** Returns whether a request of HTTP/3 has ended without a body, which nobody reads. */
export const isEmpty = ({ body }: GatewayRequest): boolean => (body as Partial<ServerRequest>).bodyless === true;

/**
 * The body of a request as it is forwarded. It is counted while it streams, and not read before a target asks for it.
 */
export class ReceivedBody {
  readonly #exchange: Exchange;
  readonly #limit: number;
  #exists: boolean | undefined;
  #chunks: AsyncIterator<Buffer> | undefined;
  #first: Buffer | undefined;
  #started = false;
  #failure: unknown;

  /** `limit`: in bytes */
  constructor(exchange: Exchange, limit = Infinity) {
    this.#exchange = exchange;
    this.#limit = limit;
    this.#exists = announcesBody(exchange.request);
  }

  /** Whether some of the body was forwarded, and so is gone */
  get started(): boolean {
    return this.#started;
  }

  /** Whether the request may have a body. A request without one can be repeated. */
  get exists(): boolean {
    return this.#exists ?? true;
  }

  /** Why the body ended early, which is always the client's doing */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Returns the body to forward; undefined when there is none.
   * @throws BodyTimeout, here or where the body is read
   * @throws BodyTooLarge where the body is read, at the first byte over the limit
   */
  open(): AsyncIterable<Buffer> | undefined | Promise<AsyncIterable<Buffer> | undefined> {
    if (this.#exists === undefined && isEmpty(this.#exchange.request)) this.#exists = false;
    const opened = (): AsyncIterable<Buffer> | undefined => (this.#exists ? this.#read() : undefined);
    return this.#exists === undefined ? this.begin().then(opened) : opened();
  }

  /** Waits for the first bytes of the body, if there is one. @throws BodyTimeout, BodyTooLarge */
  async begin(): Promise<void> {
    if (this.#exists === false || this.#chunks) return;
    const first = await this.#next();
    this.#exists ??= first.done !== true;
    if (!first.done) this.#first = first.value;
  }

  async *#read(): AsyncGenerator<Buffer> {
    this.#started = true;
    if (this.#first) yield this.#first;
    for (let next = await this.#next(); !next.done; next = await this.#next()) yield next.value;
  }

  #begin(): AsyncIterator<Buffer> {
    const { request } = this.#exchange;
    request.confirm?.();
    return request.body.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  }

  #next(): Promise<IteratorResult<Buffer>> {
    const exchange = this.#exchange;
    // A target that stops reading the body may still send the response on the same stream.
    const chunks = (this.#chunks ??= this.#begin());
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        exchange.waitForBody = undefined;
        this.#failure = error;
        reject(error);
      };
      exchange.waitForBody = fail;
      const settle = (next: IteratorResult<Buffer>): void => {
        exchange.waitForBody = undefined;
        exchange.bytesReceived += next.done ? 0 : next.value.length;
        if (exchange.bytesReceived > this.#limit) fail(new BodyTooLarge(this.#limit));
        else resolve(next);
      };
      chunks.next().then(settle, fail);
    });
  }
}

/**
 * Time in milliseconds until the gateway closes a stream whose request body it refused, with NO_ERROR (RFC 9113 §8.1).
 * Until then the client can read the response; some clients discard it when the stream closes.
 */
const readMs = 2_000;

/** Answers 413 or 408 if the error is about the request's body. Returns whether it was. */
export function respondBodyFault(exchange: Exchange, error: unknown): boolean {
  const status = error instanceof BodyTooLarge ? 413 : error instanceof BodyTimeout ? 408 : undefined;
  if (status === undefined) return false;
  const { body, httpVersion } = exchange.request;
  // HTTP/1.1 would read the rest of the body as the next request.
  respondStatus(exchange, status, Number(httpVersion) < 2 ? { connection: 'close' } : {});
  if (httpVersion === '2')
    setTimeout(() => (body as Http2ServerRequest).stream.close(constants.NGHTTP2_NO_ERROR), readMs).unref();
  return true;
}
