import type { RequestTrace, TraceFields } from '../http/request_trace.js';
import { traceFields, type TraceContext } from './trace_context.js';

/** A request whose trace is told to the next server, and recorded nowhere but in the log */
export class PropagatedTrace implements RequestTrace {
  readonly traceId: string;
  readonly fields: TraceFields;

  constructor(
    context: TraceContext,
    readonly claimedTraceId: string | undefined,
  ) {
    this.traceId = context.traceId;
    this.fields = traceFields(context);
  }

  /** There is no span that could tell it. */
  passOn(): void {
    return undefined;
  }

  failed(): void {
    return undefined;
  }

  end(): void {
    return undefined;
  }
}
