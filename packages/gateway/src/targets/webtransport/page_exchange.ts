import { PassThrough, Readable } from 'node:stream';
import { CredentialsNeeded, type PageRequest, type PageResponse } from '@sheaf/web-client/server';
import type { Credentials } from '@sheaf/web-client/protocol';
import type { GatewayRequest, GatewayResponse } from '../../http/exchange.js';
import type { WebTransportContext } from './session.js';

/** Converts a request that a page loader sent on a stream of its WebTransport session. */
export function fromPageRequest(request: PageRequest, context: WebTransportContext): GatewayRequest {
  const url = new URL(request.url);
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of request.headers) {
    const before = headers[name];
    headers[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return {
    method: request.method,
    url: url.pathname + url.search,
    headers,
    authority: url.host,
    scheme: 'https',
    httpVersion: '3',
    remoteAddress: context.remoteAddress,
    early: false,
    carrier: context,
    carriedBy: 'webtransport',
    priority: request.priority,
    destination: request.destination,
    credentials: request.credentials,
    body: Readable.fromWeb(request.body, { signal: request.signal }),
  };
}

/** Collects status and headers until the body begins, and then streams the body to its reader. */
export class PageResponseWriter extends PassThrough implements GatewayResponse {
  statusCode = 200;
  headersSent = false;
  readonly head: Promise<PageResponse>;
  readonly #headers = new Map<string, number | string | string[]>();
  #resolve: (response: PageResponse) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(
    signal: AbortSignal,
    private readonly credentials: Credentials,
  ) {
    super();
    this.head = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const abort = (): unknown => this.destroy();
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }

  setHeader(name: string, value: number | string | string[]): void {
    this.#headers.set(name.toLowerCase(), value);
  }

  getHeader(name: string): number | string | string[] | undefined {
    return this.#headers.get(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  override _transform(
    chunk: Buffer,
    encoding: BufferEncoding,
    callback: (error?: Error | null, data?: Buffer) => void,
  ): void {
    if (this.#isForBrowser()) callback(new CredentialsNeeded());
    else {
      this.#sendHead();
      super._transform(chunk, encoding, callback);
    }
  }

  override _flush(callback: (error?: Error | null) => void): void {
    if (this.#isForBrowser()) callback(new CredentialsNeeded());
    else {
      this.#sendHead();
      callback();
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // This has no effect after the headers were sent. Then the reader of the body gets the error.
    this.#reject(error ?? new Error('the response was abandoned'));
    super._destroy(error, callback);
  }

  /**
   * Returns whether the response sets cookies, asks for a log-in or clears storage. A browser does that for resources
   * that it loads itself, but not for responses that a worker hands it. If the page wants no credentials (`omitted`),
   * it never does.
   */
  #isForBrowser(): boolean {
    if (this.headersSent || this.credentials === 'omitted') return false;
    return (
      this.#headers.has('set-cookie') ||
      this.#headers.has('clear-site-data') ||
      (this.statusCode === 401 && this.#headers.has('www-authenticate'))
    );
  }

  #sendHead(): void {
    if (this.headersSent) return;
    this.headersSent = true;
    const headers = [...this.#headers].flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((item) => [name, String(item)] as const),
    );
    this.#resolve({ status: this.statusCode, headers, body: this });
  }
}
