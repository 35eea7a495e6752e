import type { Logger } from 'pino';
import { CredentialsNeeded } from '@sheaf/web-client/server';
import { within } from '../values/within.js';
import { deliveryTiming, type Delivered } from './delivered.js';
import { findRoute, type Route } from './router.js';
import { headerBytes, type Exchange, type GatewayRequest, type GatewayResponse, type Target } from './exchange.js';
import type { RequestTrace } from './request_trace.js';
import type { Tracer } from './tracer.js';
import { isEmpty } from './received_body.js';
import { parseRequestTarget, type RequestTarget } from './request_target.js';
import { respondStatus } from './respond.js';
import type { TargetUses } from './target_uses.js';

/** The outcome of a request, for the log and the metrics */
export interface RequestRecord {
  request: GatewayRequest;
  pathname: string;
  /** Label of the route, or `none` */
  route: string;
  status: number;
  bytesSent: number;
  /** How the response of a backend travelled, on a route to backends */
  delivered: Delivered | undefined;
  seconds: number;
  /** Whether the client left before the response was complete */
  aborted: boolean;
  trace?: RequestTrace | undefined;
}

export interface RequestObserver {
  requestStarted(): void;
  requestEnded(record: RequestRecord): void;
}

/** Watches every exchange from its start until its client needs no more. */
export interface ExchangeWatch {
  add(exchange: Exchange): void;
  delete(exchange: Exchange): void;
}

/** What one configuration makes of requests. A reload replaces it as a whole. */
export interface RequestHandlerOptions {
  routes: readonly Route<Target>[];
  /** Target of all requests below `/.well-known/sheaf/`, before every route */
  wellKnown: Target;
  wellKnownPrefix: string;
  /** Bound on the size of request headers, counted as in RFC 9113 §6.5.2. Larger ones get 431. */
  maxHeaderBytes: number;
  /** Watches the clients that send requests to this node itself */
  slowClients?: ExchangeWatch;
  observer: RequestObserver;
  /** Gives requests their places in traces */
  tracer?: Tracer | undefined;
  log: Logger;
  /** Name of the Server-Timing entry with the time that a response took here */
  timingName: 'sheaf-gateway' | 'sheaf-edge';
  /** Name of this node where it is a backend */
  backend?: string | undefined;
  /** Counts the exchanges at targets that may be closed while the handler lives */
  uses?: TargetUses | undefined;
}

/** Answers requests of every HTTP version. */
export class RequestHandler {
  #options: RequestHandlerOptions;
  #active = 0;
  #total = 0;
  /** What to call when no request is in flight */
  readonly #whenIdle: (() => void)[] = [];

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  /** Answers the requests that begin from now on by other rules. Those in flight keep theirs. */
  use(options: RequestHandlerOptions): void {
    this.#options = options;
  }

  /** Number of requests in flight */
  get active(): number {
    return this.#active;
  }

  /** Resolves when no request is in flight, or after this time in milliseconds. */
  async idle(ms: number): Promise<void> {
    if (this.#active > 0) await within(new Promise<void>((resolve) => this.#whenIdle.push(resolve)), ms);
  }

  /** Number of requests so far */
  get total(): number {
    return this.#total;
  }

  /** Handles a request. Settles when the response is complete or was abandoned, and never rejects. */
  handle(request: GatewayRequest, response: GatewayResponse): Promise<void> {
    return new Promise((resolve) => this.begin(request, response, resolve));
  }

  /** Handles a request as `handle` does, and calls `ended` then. */
  begin(request: GatewayRequest, response: GatewayResponse, ended: () => void = () => undefined): void {
    const options = this.#options;
    const target = parseRequestTarget(request.url);
    const exchange = this.#enter(request, response, target, options);
    let answer: Target | undefined;
    const end = (error?: unknown): void => {
      if (answer) options.uses?.leave(answer);
      this.#leave(exchange, options, error);
      ended();
    };
    try {
      answer = targetOf(exchange, target !== undefined, options);
      if (answer) options.uses?.enter(answer);
      if (!answer) end();
      else if (!answer.begin?.(exchange, end)) answer.handle(exchange).then(() => end(), end);
    } catch (error) {
      end(error);
    }
  }

  #enter(
    request: GatewayRequest,
    response: GatewayResponse,
    target: RequestTarget | undefined,
    { timingName: name, tracer, backend, slowClients, observer }: RequestHandlerOptions,
  ): RoutedExchange {
    const started = performance.now();
    // A client may reset the stream while the response is written. `close` reports that.
    response.on('error', () => undefined);
    request.body.on('error', () => undefined);
    const received = target?.authority === undefined ? request : { ...request, authority: target.authority };
    const exchange = new RoutedExchange(
      received,
      response,
      target,
      { name, started },
      backend,
      tracer?.begin(received, target?.pathname ?? ''),
    );
    response.once('close', () => {
      exchange.onClose();
      slowClients?.delete(exchange);
    });
    slowClients?.add(exchange);
    this.#active += 1;
    this.#total += 1;
    observer.requestStarted();
    return exchange;
  }

  #leave(exchange: RoutedExchange, { observer, slowClients, log }: RequestHandlerOptions, error: unknown): void {
    const { request, response } = exchange;
    if (error !== undefined) {
      log.error({ err: error, path: exchange.pathname }, 'request failed');
      abandon(exchange);
    }
    exchange.complete = true;
    this.#active -= 1;
    if (this.#active === 0) for (const idle of this.#whenIdle.splice(0)) idle();
    // Nobody reads the rest of the request body any more.
    if (request.httpVersion === '3' && !request.body.readableEnded && !isEmpty(request)) request.body.destroy();
    if (response.writableLength === 0) slowClients?.delete(exchange);
    const record: RequestRecord = {
      request,
      pathname: exchange.pathname,
      route: exchange.route,
      status: response.statusCode,
      bytesSent: exchange.bytesSent,
      delivered: exchange.described,
      seconds: exchange.seconds,
      aborted: exchange.aborted,
      trace: exchange.trace,
    };
    exchange.trace?.end(record);
    observer.requestEnded(record);
  }
}

/** Returns who answers a request; undefined when it has a response already. */
function targetOf(
  exchange: RoutedExchange,
  valid: boolean,
  { wellKnown, wellKnownPrefix, routes, maxHeaderBytes }: RequestHandlerOptions,
): Target | undefined {
  if (!valid) {
    respondStatus(exchange, 400);
    return undefined;
  }
  // RFC 9110 §9.3.6, RFC 9220 §3: no route opens a tunnel.
  if (exchange.request.method === 'CONNECT') {
    respondStatus(exchange, 501);
    return undefined;
  }
  // Node's HTTP/2 announces its limit, but does not enforce it.
  if (headerBytes(exchange.request.headers) > maxHeaderBytes) {
    respondStatus(exchange, 431);
    return undefined;
  }
  if (exchange.routed.startsWith(wellKnownPrefix)) {
    exchange.route = wellKnownPrefix;
    exchange.rest = exchange.routed;
    return wellKnown;
  }
  const { method, authority } = exchange.request;
  const match = findRoute(routes, { host: authority, pathname: exchange.routed, method });
  if (!match.found) {
    if (match.ambiguous) respondStatus(exchange, 400);
    else if (match.allow.length === 0) respondStatus(exchange, 404);
    else respondStatus(exchange, 405, { allow: match.allow.join(', ') });
    return undefined;
  }
  exchange.route = match.route.label;
  exchange.rest = match.rest;
  if (exchange.request.credentials === 'withheld' && !match.route.answer.ignoresCredentials) {
    exchange.response.destroy(new CredentialsNeeded());
    return undefined;
  }
  return match.route.answer;
}

/** Ends a failed exchange, with 500 if no headers were sent yet. Never throws. */
function abandon(exchange: Exchange): void {
  try {
    respondStatus(exchange, 500);
  } catch {
    exchange.response.destroy(new Error('the response cannot be given'));
  }
}

class RoutedExchange implements Exchange {
  readonly pathname: string;
  readonly routed: string;
  readonly search: string;
  rest = '';
  /** Label of the route */
  route = 'none';
  bytesSent = 0;
  bytesReceived = 0;
  delivered: Delivered | undefined;
  waitForBody: ((error: Error) => void) | undefined;
  complete = false;
  aborted = false;
  #abort: AbortController | undefined;
  #whenAborted: Set<() => void> | undefined;

  constructor(
    readonly request: GatewayRequest,
    readonly response: GatewayResponse,
    target: RequestTarget | undefined,
    private readonly clock: { name: string; started: number },
    private readonly backend: string | undefined,
    readonly trace: RequestTrace | undefined,
  ) {
    if (request.handedOver) this.delivered = { delivery: 'path' };
    this.pathname = target?.pathname ?? '';
    this.routed = target?.routed ?? '';
    this.search = target?.search ?? '';
  }

  timing(): string {
    const time = `${this.clock.name};dur=${(this.seconds * 1_000).toFixed(3)}`;
    const delivery = this.described && deliveryTiming(this.described);
    return delivery === undefined ? time : `${time}, ${delivery}`;
  }

  /** Time since the request arrived */
  get seconds(): number {
    return (performance.now() - this.clock.started) / 1_000;
  }

  /** How the response travels, with the name of the backend */
  get described(): Delivered | undefined {
    return this.delivered && { backend: this.backend, ...this.delivered };
  }

  /** Creates the signal on demand: most responses are complete before a target asks for it. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.aborted) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  whenAborted(listener: () => void): () => void {
    const listeners = (this.#whenAborted ??= new Set());
    if (this.aborted) listener();
    else listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Notes that the response closed. If it was not complete, the client has left. */
  onClose(): void {
    if (this.complete || this.response.writableEnded) return;
    this.aborted = true;
    this.#abort?.abort();
    for (const listener of this.#whenAborted ?? []) listener();
  }
}
