import { PassThrough, Readable } from 'node:stream';
import type {
  ClientRequestOptions,
  ClientResponse,
  HeaderMap,
  Http3Client,
  WholeResponse,
  WholeResponses,
} from '@sheaf/native';
import { collect } from './client.js';
import type { Exchange, Target } from '../../src/http/exchange.js';
import type { BackendHealth } from '../../src/observability/backend_report.js';
import type { Asker } from '../../src/multi_end/primary/backend_watch.js';
import { Dependents } from '../../src/multi_end/primary/dependents.js';
import { Places } from '../../src/slow_clients/places.js';

export const whole = Buffer.from(Array.from({ length: 1_000 }, (_each, index) => index % 251));
export const etag = '"1"';

type Answer = ClientResponse | WholeResponse | Error;
type FakeClient = Pick<Http3Client, 'ask'> & {
  request: (options: ClientRequestOptions) => Promise<ClientResponse>;
  requestWhole: (options: ClientRequestOptions, which: WholeResponses) => Promise<ClientResponse | WholeResponse>;
};

/** A backend that sends so many bytes and then nothing: no head if there are none. */
export class FakeBackend {
  state: BackendHealth = 'serving';
  requestsActive: number;
  proxied = 0;
  places = new Places(256);
  returning = new Places(2_048);
  dependents = new Dependents();
  chosen = 0;
  readonly asked: ClientRequestOptions[] = [];
  silent = false;
  /** Whether a registry says that others come first */
  unheard = false;
  #askers = new Set<Asker>();
  /** Answers instead, where it returns something. */
  answer: (options: ClientRequestOptions) => ClientResponse | undefined = () => undefined;
  readonly #client = {
    request: (options: ClientRequestOptions) => this.#request(options),
    requestWhole: (options: ClientRequestOptions, which: WholeResponses) => this.#requestWhole(options, which),
    ask: (options: ClientRequestOptions, which: WholeResponses, answered: (answer: never) => void): boolean => {
      const tell = answered as (answer: Answer) => void;
      this.#requestWhole(options, which).then(tell, tell);
      return true;
    },
  };
  readonly link: { client: FakeClient | undefined; whenOpen: () => Promise<FakeClient> } = {
    client: this.#client,
    whenOpen: () => Promise.resolve(this.#client),
  };

  get doubtful(): boolean {
    return this.silent || this.unheard;
  }

  constructor(
    readonly name: string,
    order: number,
    private readonly silentAfter = Number.POSITIVE_INFINITY,
    private readonly tag = etag,
  ) {
    this.requestsActive = order;
  }

  enter(asker: Asker): void {
    this.#askers.add(asker);
  }
  leave(asker: Asker): void {
    this.#askers.delete(asker);
  }
  get waiting(): number {
    return this.#askers.size;
  }
  lose(): void {
    this.state = 'lost';
    for (const asker of [...this.#askers]) asker.onLost();
  }
  noteSilence(): void {
    this.silent = true;
    for (const asker of [...this.#askers]) asker.onSilence();
  }

  async #requestWhole(
    options: ClientRequestOptions,
    { field }: WholeResponses,
  ): Promise<ClientResponse | WholeResponse> {
    const response = await this.#request(options);
    if (response.headers[field] === undefined) return response;
    const { status, headers } = response;
    return { status, headers, whole: await collect(response) };
  }

  #request(options: ClientRequestOptions): Promise<ClientResponse> {
    this.asked.push(options);
    const cancelled = Object.assign(new Error('abandoned'), { code: 'REQUEST_CANCELLED' });
    return new Promise((resolve, reject) => {
      options.signal?.addEventListener('abort', () => reject(cancelled));
      if (this.silentAfter === 0) return;
      const other = this.answer(options);
      if (other) {
        options.signal?.addEventListener('abort', () => other.destroy(cancelled));
        return resolve(other);
      }
      const range = options.headers?.['range'];
      const from = Number(/^bytes=(\d+)-/.exec(String(range ?? 'bytes=0-'))![1]);
      const head =
        range === undefined
          ? { etag: this.tag, 'content-length': '1000' }
          : { etag: this.tag, 'content-range': `bytes ${from}-999/1000` };
      const part = whole.subarray(from, this.silentAfter);
      const response = fakeAnswer(range === undefined ? 200 : 206, head, part, this.silentAfter >= whole.length);
      options.signal?.addEventListener('abort', () => response.destroy(cancelled));
      resolve(response);
    });
  }
}

/** A response of a backend. */
export function fakeAnswer(status: number, headers: HeaderMap, body: Buffer, ends = true): ClientResponse {
  const stream = new Readable({ read: () => undefined });
  stream.push(body);
  if (ends) stream.push(null);
  return Object.assign(stream, { status, headers, trailers: {} });
}

export class FakeResponse extends PassThrough {
  statusCode = 0;
  headersSent = false;
  getHeader(): undefined {
    return undefined;
  }
  setHeader(): void {
    this.headersSent = true;
  }
}

/** Handles an exchange without a promise where the target does so, as the gateway does. */
export function begin(target: Target, exchange: Exchange): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (error?: unknown): void => (error instanceof Error ? reject(error) : resolve());
    if (!target.begin?.(exchange, ended)) target.handle(exchange).then(resolve, reject);
  });
}

/** An exchange over HTTP/3, unless the request says otherwise. `leave` lets its client go. */
export function fakeExchange(response: FakeResponse, request: object = {}): Exchange & { leave(): void } {
  const controller = new AbortController();
  const exchange = {
    request: {
      method: 'GET',
      url: '/a',
      headers: {},
      authority: 'site',
      scheme: 'https',
      httpVersion: '3',
      remoteAddress: '192.0.2.1',
      early: false,
      bodyless: true,
      body: Object.assign(Readable.from([]), { bodyless: true, remoteAddress: { address: '192.0.2.1' } }),
      ...request,
    },
    response,
    pathname: '/a',
    search: '',
    rest: '/a',
    aborted: false,
    signal: controller.signal,
    whenAborted: (listener: () => void) => {
      controller.signal.addEventListener('abort', listener, { once: true });
      return () => controller.signal.removeEventListener('abort', listener);
    },
    timing: () => 'sheaf;dur=1',
    bytesSent: 0,
    bytesReceived: 0,
    leave: () => {
      exchange.aborted = true;
      controller.abort();
      response.destroy();
    },
  };
  return exchange as unknown as Exchange & { leave(): void };
}
