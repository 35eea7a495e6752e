import type { GatewayRequest } from './exchange.js';
import type { NextServer, RequestTrace } from './request_trace.js';

/** Ends what was traced. `failure`: why it did not succeed */
export type EndTrace = (failure?: string) => void;

export interface Tracer {
  /** `pathname`: path in its normal form */
  begin(request: GatewayRequest, pathname: string): RequestTrace;
  /** Begins to trace that a connection is handed over to a backend. Returns undefined where nothing records that. */
  handOver(backend: NextServer): EndTrace | undefined;
}
