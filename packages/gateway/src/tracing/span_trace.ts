import type { Context, Span, Tracer as SpanTracer } from '@opentelemetry/api';
import { errorMessage, systemErrorCode } from '../errors/user_error.js';
import type { GatewayRequest } from '../http/exchange.js';
import type { NextServer, RequestTrace, TracedOutcome, TraceFields } from '../http/request_trace.js';
import type { OpenTelemetry } from './open_telemetry.js';
import { outcomeAttributes, passedOnAttributes, spanMethod } from './span_attributes.js';
import { traceFields } from './trace_context.js';

/** A request, and its spans */
export interface SpannedRequest {
  request: GatewayRequest;
  pathname: string;
  /** Span of the request */
  span: Span;
  /** Context that has this span */
  context: Context;
  claimedTraceId: string | undefined;
}

/** A request with a span, and one for each server that it is passed on to */
export class SpanTrace implements RequestTrace {
  readonly #api: OpenTelemetry;
  readonly #tracer: SpanTracer;
  readonly #own: SpannedRequest;
  #asked: { name: string; span: Span } | undefined;
  #latest: Span;

  constructor(api: OpenTelemetry, tracer: SpanTracer, own: SpannedRequest) {
    this.#api = api;
    this.#tracer = tracer;
    this.#own = own;
    this.#latest = own.span;
  }

  get traceId(): string {
    return this.#own.span.spanContext().traceId;
  }

  get claimedTraceId(): string | undefined {
    return this.#own.claimedTraceId;
  }

  /** Names the span of the latest server, also once it has ended: that server is asked for the rest of a body. */
  get fields(): TraceFields {
    const { traceId, spanId, traceFlags, traceState } = this.#latest.spanContext();
    const state = traceState?.serialize();
    return traceFields({ traceId, spanId, flags: traceFlags, state: state === '' ? undefined : state });
  }

  passOn(server: NextServer): void {
    if (this.#asked?.name === server.name) return;
    this.#asked?.span.end();
    const { request, pathname, context } = this.#own;
    const span = this.#tracer.startSpan(
      spanMethod(request.method),
      { kind: this.#api.SpanKind.CLIENT, attributes: passedOnAttributes(server, request.method, pathname) },
      context,
    );
    this.#asked = { name: server.name, span };
    this.#latest = span;
  }

  failed(error: unknown): void {
    const span = this.#asked?.span;
    this.#asked = undefined;
    span?.setAttribute('error.type', systemErrorCode(error) ?? '_OTHER');
    span?.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: errorMessage(error) });
    span?.end();
  }

  end(outcome: TracedOutcome): void {
    const { span, request } = this.#own;
    const { status, route } = outcome;
    // What a server answered is what the client has: a server that failed is not the one that is asked any more.
    this.#finish(this.#asked?.span, status, 400);
    span.updateName(`${spanMethod(request.method)} ${route}`);
    span.setAttributes(outcomeAttributes(outcome));
    this.#finish(span, status, 500);
  }

  /** Ends a span. `least`: status from which on it is an error. */
  #finish(span: Span | undefined, status: number, least: number): void {
    span?.setAttribute('http.response.status_code', status);
    if (status >= least) {
      span?.setAttribute('error.type', String(status));
      span?.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    span?.end();
  }
}
