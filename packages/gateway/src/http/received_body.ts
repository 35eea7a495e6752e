import { constants, type Http2ServerRequest } from 'node:http2';
import { headerValue, type Exchange, type GatewayRequest } from './exchange.js';
import { respondStatus } from './respond.js';

/** A request body went over the limit: the response is 413. */
export class BodyTooLarge extends Error {
  constructor(limit: number) {
    super(`request body above ${limit} bytes`);
    this.name = 'BodyTooLarge';
  }
}

/** The client did not send its body in time: the response is 408. */
export class BodyTimeout extends Error {
  constructor() {
    super('the client does not send its body');
    this.name = 'BodyTimeout';
  }
}

/** The declared length of the body; undefined when the request does not say. */
export function declaredLength(request: GatewayRequest): number | undefined {
  const text = headerValue(request.headers, 'content-length');
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Most requests of these methods have no body, and may have one (RFC 9110 §9.3). */
const usuallyWithout = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE']);

/** Whether a body follows the headers; undefined when only its beginning tells. */
function announcesBody(request: GatewayRequest): boolean | undefined {
  if (request.bodyless) return false;
  const length = declaredLength(request);
  if (length !== undefined) return length > 0;
  if (request.headers['transfer-encoding'] !== undefined) return true;
  if (Number(request.httpVersion) < 2) return false;
  return usuallyWithout.has(request.method) ? undefined : true;
}

/** The body of a request as it is passed on: counted while it streams, and read no sooner than somebody asks. */
export class ReceivedBody {
  readonly #exchange: Exchange;
  readonly #limit: number;
  #exists: boolean | undefined;
  #chunks: AsyncIterator<Buffer> | undefined;
  #first: Buffer | undefined;
  #started = false;
  #failure: unknown;

  /** `limit`: in bytes. */
  constructor(exchange: Exchange, limit = Infinity) {
    this.#exchange = exchange;
    this.#limit = limit;
    this.#exists = announcesBody(exchange.request);
  }

  /** Some of it has been passed on: it is gone. */
  get started(): boolean {
    return this.#started;
  }

  /** A request without one can be repeated. */
  get exists(): boolean {
    return this.#exists ?? true;
  }

  /** Why it broke off: always the client's doing. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * What is passed on; undefined when there is no body.
   * @throws BodyTimeout, here or where it is read
   * @throws BodyTooLarge where it is read, at the first byte over the limit
   */
  async open(): Promise<AsyncIterable<Buffer> | undefined> {
    if (this.#exists === undefined) await this.begin();
    return this.#exists ? this.#read() : undefined;
  }

  /** Waits until there is something to pass on, if it has a body. @throws BodyTimeout, BodyTooLarge */
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
    // What does not take the rest of the body may still bring the response on the same stream.
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
 * RFC 9113 §8.1: a stream whose response is complete is closed with NO_ERROR, so that nobody waits for the rest of the
 * request. Clients get so long to read the response, in milliseconds: some throw it away then.
 */
const readMs = 2_000;

/** Says what is wrong with the request's body, if this error is about that. */
export function respondBodyFault(exchange: Exchange, error: unknown): boolean {
  const status = error instanceof BodyTooLarge ? 413 : error instanceof BodyTimeout ? 408 : undefined;
  if (status === undefined) return false;
  const { body, httpVersion } = exchange.request;
  // The rest of the body would be taken for the next request.
  respondStatus(exchange, status, Number(httpVersion) < 2 ? { connection: 'close' } : {});
  if (httpVersion === '2')
    setTimeout(() => (body as Http2ServerRequest).stream.close(constants.NGHTTP2_NO_ERROR), readMs).unref();
  return true;
}
