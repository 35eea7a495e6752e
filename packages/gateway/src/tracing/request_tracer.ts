import type { Tracer as SpanTracer } from '@opentelemetry/api';
import type { GatewayRequest } from '../http/exchange.js';
import type { NextServer, RequestTrace } from '../http/request_trace.js';
import type { EndTrace, Tracer } from '../http/tracer.js';
import type { TracingOptions } from '../schema/tracing.js';
import { Networks } from '../values/networks.js';
import { version } from '../values/version.js';
import type { OpenTelemetry } from './open_telemetry.js';
import { PropagatedTrace } from './propagated_trace.js';
import { requestAttributes, spanMethod } from './span_attributes.js';
import { SpanTrace } from './span_trace.js';
import { childOf, newTrace, traceContextOf, type RandomSource, type TraceContext } from './trace_context.js';

export interface RequestTracerOptions extends TracingOptions {
  /** The API of OpenTelemetry, where it is installed */
  api: OpenTelemetry | undefined;
  random: RandomSource;
}

/** The context that a request brings: one to go on with, or one to link to */
interface Received {
  parent?: TraceContext;
  claimed?: TraceContext;
}

/** Gives every request a place in a trace: in that of its sender, where it is trusted, or else in a new one. */
export class RequestTracer implements Tracer {
  readonly #options: RequestTracerOptions;
  readonly #trusted: Networks;
  readonly #spans: SpanTracer | undefined;

  constructor(options: RequestTracerOptions) {
    this.#options = options;
    this.#trusted = new Networks(options.trust);
    // The tracer finds the SDK whenever one is registered, before or after.
    this.#spans = options.api?.trace.getTracer('sheaf', version);
  }

  begin(request: GatewayRequest, pathname: string): RequestTrace {
    const received = this.#received(request);
    return this.#spanned(request, pathname, received) ?? this.#propagated(received);
  }

  handOver({ name, address, port }: NextServer): EndTrace | undefined {
    const { api } = this.#options;
    if (!api || !this.#spans) return undefined;
    const attributes = { 'server.address': address, 'server.port': port, 'sheaf.server': name };
    const span = this.#spans.startSpan('hand over', { kind: api.SpanKind.CLIENT, attributes }, api.ROOT_CONTEXT);
    return (failure) => {
      if (failure !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR, message: failure });
      span.end();
    };
  }

  #received(request: GatewayRequest): Received {
    const context = traceContextOf(request.headers);
    if (!context) return {};
    const { passedOn = false, peerAddress = request.remoteAddress } = request;
    return passedOn || this.#trusted.has(peerAddress) ? { parent: context } : { claimed: context };
  }

  #propagated({ parent, claimed }: Received): RequestTrace {
    const { random, sample } = this.#options;
    return new PropagatedTrace(parent ? childOf(parent, random) : newTrace(sample, random), claimed?.traceId);
  }

  /** Returns undefined where no SDK is registered. */
  #spanned(request: GatewayRequest, pathname: string, { parent, claimed }: Received): RequestTrace | undefined {
    const { api } = this.#options;
    if (!api || !this.#spans) return undefined;
    const above = parent ? api.trace.setSpanContext(api.ROOT_CONTEXT, spanContext(api, parent)) : api.ROOT_CONTEXT;
    const span = this.#spans.startSpan(
      spanMethod(request.method),
      {
        kind: api.SpanKind.SERVER,
        attributes: requestAttributes(request, pathname),
        ...(claimed && { links: [{ context: spanContext(api, claimed) }] }),
      },
      above,
    );
    const own = span.spanContext();
    // Without an SDK the API returns its parent, or an id of zeros.
    if (!api.isSpanContextValid(own) || own.spanId === parent?.spanId) return undefined;
    const context = api.trace.setSpan(above, span);
    return new SpanTrace(api, this.#spans, { request, pathname, span, context, claimedTraceId: claimed?.traceId });
  }
}

function spanContext(api: OpenTelemetry, { traceId, spanId, flags, state }: TraceContext) {
  return {
    traceId,
    spanId,
    traceFlags: flags,
    isRemote: true,
    ...(state === undefined ? {} : { traceState: api.createTraceState(state) }),
  };
}
