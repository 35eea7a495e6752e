import { Readable } from 'node:stream';
import type { ClientRequestOptions, ClientResponse, Http3Client } from '@sheaf/native';
import { systemErrorCode } from '../errors/user_error.js';
import { loadHeader, routesHeader } from '../ends/route_map.js';
import { headerValue } from '../http/exchange.js';
import { isIdempotent } from '../http/methods.js';
import { isRest, rangeHeaders, resumptionOf, type Resumption } from './byte_range.js';
import { OpenEnds } from './open_ends.js';
import { RouteMapCache } from './route_map_cache.js';

/** RFC 9114 §8.1: the server has done nothing about the request. */
const H3_REQUEST_REJECTED = 0x10b;
/** Ends that one request is asked of; then the gateway. */
const mostEnds = 3;

/**
 * The requests of one connection, each to the server that answers it: an end, or the gateway. What an end that was lost
 * still owed is asked of another, as far as asking twice has the effect of asking once.
 */
export class EndClient {
  readonly #client: Http3Client;
  readonly #ends: OpenEnds;
  readonly #routes: RouteMapCache;
  /** Ends those requests that wait for the gateway, once it is known that it does not answer. */
  readonly #primary = new AbortController();
  /** Requests to ends that are under way. */
  #active = 0;

  constructor(client: Http3Client, routes = new RouteMapCache()) {
    this.#client = client;
    this.#routes = routes;
    this.#ends = new OpenEnds(client);
    client.once('endOffered', () => void routes.load(client));
    client.once('primaryLost', () => this.#onPrimaryLost());
  }

  /** Resolves once the ends that were offered and the routes can be used, after `patienceMs` at the latest. */
  async ready(patienceMs: number): Promise<void> {
    const offered = new Promise<void>((resolve) => {
      if (this.#ends.any) resolve();
      else this.#client.once('endOffered', () => resolve());
    });
    const opened = offered.then(() => Promise.all([this.#routes.load(this.#client), this.#ends.opened()]));
    await Promise.race([opened, new Promise((resolve) => setTimeout(resolve, patienceMs).unref())]);
  }

  /** As `Http3Client.request`. @throws QuicError */
  async request(options: ClientRequestOptions): Promise<ClientResponse> {
    const excluded = new Set<number>();
    const { response, end } = await this.#ask(options, excluded);
    const resumption = end === undefined ? undefined : resumptionOf(options.method ?? 'GET', response);
    if (end === undefined || !resumption) return response;
    excluded.add(end);
    const { status, headers } = response;
    const body = Readable.from(this.#resuming(response, options, resumption, excluded), { objectMode: false, highWaterMark: 256 * 1024 });
    return Object.assign(body, { status, headers });
  }

  /** What ends still send is taken; a connection without its gateway is of no other use. */
  #onPrimaryLost(): void {
    this.#primary.abort();
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (this.#primary.signal.aborted && this.#active === 0) void this.#client.close().catch(() => undefined);
  }

  /** Asks end after end, and at last the gateway. */
  async #ask(options: ClientRequestOptions, excluded: Set<number>): Promise<{ response: ClientResponse; end?: number }> {
    const candidates = this.#candidates(options);
    while (excluded.size < mostEnds) {
      const end = this.#ends.choose(candidates, excluded);
      if (end === undefined) break;
      try {
        return { response: await this.#askEnd(end, options), end };
      } catch (error) {
        if (options.signal?.aborted || !mayRepeat(options, error)) throw error;
        excluded.add(end);
      }
    }
    return { response: await this.#askPrimary(options) };
  }

  #candidates({ method = 'GET', path, authority = '' }: ClientRequestOptions): readonly number[] {
    if (!this.#ends.any) return [];
    return this.#routes.endsFor({ method, host: authority, pathname: path.split('?', 1)[0] ?? path });
  }

  async #askEnd(end: number, options: ClientRequestOptions): Promise<ClientResponse> {
    this.#ends.started(end);
    this.#active += 1;
    const ended = (): void => {
      this.#ends.ended(end);
      this.#active -= 1;
      this.#closeWhenIdle();
    };
    const response = await this.#client.request({ ...options, end }).catch((error: unknown) => {
      ended();
      throw error;
    });
    response.once('close', ended);
    this.#ends.setLoad(end, take(response, loadHeader) ?? '');
    return response;
  }

  async #askPrimary(options: ClientRequestOptions): Promise<ClientResponse> {
    if (this.#primary.signal.aborted) throw new PrimaryLost();
    const signal = options.signal ? AbortSignal.any([options.signal, this.#primary.signal]) : this.#primary.signal;
    try {
      const response = await this.#client.request({ ...options, signal });
      this.#routes.learn(take(response, routesHeader) ?? '', this.#client);
      return response;
    } catch (error) {
      throw this.#primary.signal.aborted && !options.signal?.aborted ? new PrimaryLost(error) : error;
    }
  }

  /** The body of an answer, with what was missing from other servers. */
  async *#resuming(response: ClientResponse, options: ClientRequestOptions, resumption: Resumption, excluded: Set<number>): AsyncGenerator<Buffer> {
    let current = response;
    let received = 0;
    for (;;) {
      try {
        for await (const chunk of current as AsyncIterable<Buffer>) {
          received += chunk.length;
          yield chunk;
        }
        return;
      } catch (error) {
        if (systemErrorCode(error) !== 'END_LOST' || options.signal?.aborted) throw error;
        if (resumption.last !== undefined && resumption.first + received > resumption.last) return;
        const { response: rest, end } = await this.#ask({ ...options, headers: { ...options.headers, ...rangeHeaders(resumption, received) } }, excluded);
        if (!isRest(rest, resumption, received)) {
          rest.destroy();
          throw error;
        }
        if (end !== undefined) excluded.add(end);
        current = rest;
        resumption = { ...resumption, first: resumption.first + received };
        received = 0;
      }
    }
  }
}

/** No path to the gateway answers, though paths to ends may: another connection is needed. */
export class PrimaryLost extends Error {
  readonly code = 'CONNECTION_CLOSED';

  constructor(cause?: unknown) {
    super('the gateway does not answer any more', { cause });
    this.name = 'PrimaryLost';
  }
}

/** Whether the request may be sent once more, to another server. */
function mayRepeat({ method = 'GET', body }: ClientRequestOptions, error: unknown): boolean {
  switch (systemErrorCode(error)) {
    // Nothing of it was sent.
    case 'END_REFUSED':
    case 'NO_MULTI_END':
      return true;
    case 'END_LOST':
      return isIdempotent(method) && isWhole(body);
    case 'STREAM_RESET':
      return (error as { errorCode?: number }).errorCode === H3_REQUEST_REJECTED && isWhole(body);
    default:
      return false;
  }
}

/** A body that streams can be read once. */
function isWhole(body: ClientRequestOptions['body']): boolean {
  return body === undefined || Buffer.isBuffer(body);
}

/** What one server says to the next is not for those behind. */
function take({ headers }: ClientResponse, name: string): string | undefined {
  const value = headerValue(headers, name);
  delete headers[name];
  return value;
}
