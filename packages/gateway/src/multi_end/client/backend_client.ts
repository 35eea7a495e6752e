import { Readable } from 'node:stream';
import type { ClientRequestOptions, ClientResponse, Http3Client } from '@sheaf/native';
import { Abandonment } from '../../http/abandonment.js';
import { systemErrorCode } from '../../errors/user_error.js';
import { loadHeader, routesHeader } from '../protocol/route_map.js';
import { wasRejected } from '../../http/proxied_request.js';
import { headerValue } from '../../http/exchange.js';
import { mayRepeat, type Failed } from '../../http/repeat.js';
import { isRest, rangeHeaders, resumedBody, resumptionOf, type Resumption } from '../../http/resumable_body.js';
import { HeldBody } from './held_body.js';
import { OpenBackends } from './open_backends.js';
import { RouteMapCache } from './route_map_cache.js';
import { Stalls, type Wait } from './stalls.js';

/** Maximum of backends that one request is sent to, before the gateway gets it */
const maxBackends = 3;

export interface BackendClientOptions {
  /** Cache that outlives connections */
  routes?: RouteMapCache;
  /** Sends a request over another connection, once the gateway of this one is lost. */
  elsewhere?: (options: ClientRequestOptions) => Promise<ClientResponse>;
}

/** Learns which server sends which part of a response. */
export interface PartListener {
  /** Announces that the following part comes from this backend; undefined means the gateway. */
  begin(backend: number | undefined): void;
  /** Counts bytes of the body that arrived. */
  received(bytes: number): void;
}

/** A response in flight, and what is needed to request the rest of it */
interface Delivery {
  options: ClientRequestOptions;
  resumption: Resumption | undefined;
  excluded: Set<number>;
  parts: PartListener | undefined;
}

/** A response and the backend that sent it; without a backend, the gateway sent it */
interface Answer {
  response: ClientResponse;
  backend?: number;
}

/**
 * Sends each request of one connection to the server that answers it: a backend, or the gateway. When a backend is
 * lost, asks another one for the missing parts, if repeating the request is harmless.
 */
export class BackendClient {
  readonly #client: Http3Client;
  readonly #backends: OpenBackends;
  readonly #routes: RouteMapCache;
  readonly #elsewhere: BackendClientOptions['elsewhere'];
  /** Abandon the requests that wait for the gateway, once it is lost */
  readonly #waiting = new Set<() => void>();
  readonly #stalls = new Stalls();
  /** Number of unfinished responses of backends */
  #open = 0;
  #primaryLost = false;

  constructor(client: Http3Client, { routes = new RouteMapCache(), elsewhere }: BackendClientOptions = {}) {
    this.#client = client;
    this.#routes = routes;
    this.#elsewhere = elsewhere;
    this.#backends = new OpenBackends(client);
    if (this.#backends.any) void routes.load(client);
    else client.once('backendOffered', () => void routes.load(client));
    client.once('primaryLost', () => this.#onPrimaryLost());
  }

  /** Resolves once routes and offered backends can be used, and after `patienceMs` at the latest. */
  async ready(patienceMs: number): Promise<void> {
    const offered = new Promise<void>((resolve) => {
      if (this.#backends.any) resolve();
      else this.#client.once('backendOffered', () => resolve());
    });
    const opened = offered.then(() => Promise.all([this.#routes.load(this.#client), this.#backends.opened()]));
    await Promise.race([opened, new Promise((resolve) => setTimeout(resolve, patienceMs).unref())]);
  }

  /**
   * Sends a request as `Http3Client.request` does. `parts` learns which server sends each part of the response's body.
   * @throws QuicError, PrimaryLost
   */
  async request(options: ClientRequestOptions, parts?: PartListener): Promise<ClientResponse> {
    const excluded = new Set<number>();
    const held =
      this.#backends.any && options.body !== undefined && !Buffer.isBuffer(options.body)
        ? new HeldBody(options.body)
        : undefined;
    const answer = await this.#ask(held ? { ...options, body: held } : options, excluded, parts).finally(() =>
      held?.release(),
    );
    const resumption = resumptionOf(options.method ?? 'GET', answer.response);
    if (answer.backend === undefined && !parts && !(resumption && this.#backends.any && this.#elsewhere))
      return answer.response;
    const { status, headers } = answer.response;
    const body = this.#body(
      answer,
      { options, resumption, excluded, parts },
      (last) => (whole.trailers = last.trailers),
    );
    const whole = Object.assign(Readable.from(body, { objectMode: false, highWaterMark: 256 * 1024 }), {
      status,
      headers,
      trailers: {},
    });
    // If the body was never read, its source has not begun either, and must be closed here.
    whole.once('close', () => answer.response.destroy());
    return whole;
  }

  /** Lets backends finish what they are sending. A connection without its gateway is of no other use. */
  #onPrimaryLost(): void {
    this.#primaryLost = true;
    for (const abandon of [...this.#waiting]) abandon();
    this.#stalls.watch();
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (this.#primaryLost && this.#stalls.size === 0 && this.#open === 0)
      void this.#client.close().catch(() => undefined);
  }

  /** Asks one backend after another, and finally the gateway. */
  async #ask(options: ClientRequestOptions, excluded: Set<number>, parts: PartListener | undefined): Promise<Answer> {
    const candidates = this.#candidates(options);
    // Once its gateway is lost, the connection closes as soon as nothing is in flight. New requests use another
    // connection.
    while (excluded.size < maxBackends && !(this.#primaryLost && this.#elsewhere)) {
      const backend = this.#backends.choose(candidates, excluded);
      if (backend === undefined) break;
      parts?.begin(backend);
      try {
        return { response: await this.#askBackend(backend, options), backend };
      } catch (error) {
        if (options.signal?.aborted || !mayAskAnother(options, error)) throw error;
        excluded.add(backend);
      }
    }
    parts?.begin(undefined);
    return { response: await this.#askPrimary(options) };
  }

  #candidates({ method = 'GET', path, authority = '' }: ClientRequestOptions): readonly number[] {
    if (!this.#backends.any) return [];
    return this.#routes.backendsFor({ method, host: authority, pathname: path.split('?', 1)[0] ?? path });
  }

  async #askBackend(backend: number, options: ClientRequestOptions): Promise<ClientResponse> {
    const lost = new Abandonment();
    const wait: Wait = { since: performance.now(), abandon: lost.abort };
    const signal = options.signal ? Abandonment.any([options.signal, lost]) : lost;
    this.#stalls.add(wait);
    this.#backends.started(backend);
    try {
      const response = await this.#client.request({ ...options, backend, signal });
      this.#open += 1;
      response.once('close', () => {
        this.#open -= 1;
        this.#backends.ended(backend);
        this.#closeWhenIdle();
      });
      this.#backends.setLoad(backend, take(response, loadHeader) ?? '');
      return response;
    } catch (error) {
      this.#backends.ended(backend);
      if (wasRejected(error)) throw new BackendRejected(error);
      throw lost.aborted ? new PrimaryLost(error) : error;
    } finally {
      this.#settle(wait);
    }
  }

  async #askPrimary(options: ClientRequestOptions): Promise<ClientResponse> {
    if (this.#primaryLost) {
      if (this.#elsewhere) return this.#elsewhere(options);
      throw new PrimaryLost();
    }
    const lost = new Abandonment();
    const signal = options.signal ? Abandonment.any([options.signal, lost]) : lost;
    let abandon = lost.abort;
    const wait = (): void => abandon();
    this.#waiting.add(wait);
    try {
      const response = await this.#client.request({ ...options, signal });
      abandon = () => void response.destroy(new PrimaryLost());
      response.once('close', () => this.#waiting.delete(wait));
      this.#routes.learn(take(response, routesHeader) ?? '', this.#client);
      return response;
    } catch (error) {
      this.#waiting.delete(wait);
      throw lost.aborted ? new PrimaryLost(error) : error;
    }
  }

  /** Returns the body of a response, with missing parts from other servers. */
  #body(
    { response, backend }: Answer,
    { options, resumption, excluded, parts }: Delivery,
    onEnd: (last: ClientResponse) => void,
  ): AsyncGenerator<Buffer> {
    let from = backend;
    return resumedBody(response, resumption, {
      read: (part) => this.#read(part, parts),
      mayResume: (error) => isLost(error) && !options.signal?.aborted,
      rest: async (resumed, received) => {
        if (from !== undefined) excluded.add(from);
        const rest = await this.#rest({ options, resumption: resumed, excluded, parts }, received);
        from = rest?.backend;
        return rest?.response;
      },
      onEnd,
    });
  }

  /** Reads one server's part of the body. */
  async *#read(response: ClientResponse, parts: PartListener | undefined): AsyncGenerator<Buffer> {
    const wait: Wait = { since: undefined, abandon: () => void response.destroy(new PrimaryLost()) };
    this.#stalls.add(wait);
    const chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    try {
      for (;;) {
        wait.since = performance.now();
        const { value, done } = (await chunks.next()) as IteratorResult<Buffer, undefined>;
        wait.since = undefined;
        if (done) return;
        parts?.received(value.length);
        yield value;
      }
    } finally {
      response.destroy();
      this.#settle(wait);
    }
  }

  async #rest(
    { options, resumption, excluded, parts }: Delivery & { resumption: Resumption },
    received: number,
  ): Promise<{ response: ClientResponse; backend: number | undefined } | undefined> {
    const { response, backend } = await this.#ask(
      { ...options, headers: { ...options.headers, ...rangeHeaders(resumption, received) } },
      excluded,
      parts,
    );
    if (isRest(response, resumption, received)) return { response, backend };
    response.destroy();
    return undefined;
  }

  #settle(wait: Wait): void {
    this.#stalls.delete(wait);
    this.#closeWhenIdle();
  }
}

/** No path to the gateway works, though paths to backends may: another connection is needed. */
export class PrimaryLost extends Error {
  readonly code = 'CONNECTION_CLOSED';

  constructor(cause?: unknown) {
    super('the gateway does not answer any more', { cause });
    this.name = 'PrimaryLost';
  }
}

/** A draining backend rejected the request without processing it. The connection and the gateway still work. */
class BackendRejected extends Error {
  readonly code = 'BACKEND_REJECTED';

  constructor(cause: unknown) {
    super('the backend takes no more requests', { cause });
    this.name = 'BackendRejected';
  }
}

function isLost(error: unknown): boolean {
  return error instanceof PrimaryLost || systemErrorCode(error) === 'BACKEND_LOST';
}

/** What error codes tell about a failed request. After any other error it is not sent again. */
const failures: Readonly<Partial<Record<string, Failed>>> = {
  BACKEND_REFUSED: 'nothing',
  NO_MULTI_END: 'nothing',
  BACKEND_REJECTED: 'unprocessed',
};

/** Returns whether the request may be sent again, to another server. */
function mayAskAnother({ method = 'GET', body }: ClientRequestOptions, error: unknown): boolean {
  const failed = isLost(error) ? 'unknown' : failures[systemErrorCode(error) ?? ''];
  return failed !== undefined && mayRepeat(method, isWhole(body), failed);
}

/** Returns whether the body can be sent from its start. */
function isWhole(body: ClientRequestOptions['body']): boolean {
  return body === undefined || Buffer.isBuffer(body) || (body instanceof HeldBody && body.whole);
}

/** Removes a header that is meant for this node, so that clients do not see it. */
function take({ headers }: ClientResponse, name: string): string | undefined {
  const value = headerValue(headers, name);
  delete headers[name];
  return value;
}
