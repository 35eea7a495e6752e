import type { GatewayRequest } from './exchange.js';
import type { RequestRecord } from './request_handler.js';

/** Fields that tell the next server which operation of a trace a request belongs to (W3C Trace Context) */
export interface TraceFields {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** A server that requests are passed on to */
export interface NextServer {
  /** Name that no other server of the node has */
  readonly name: string;
  readonly scheme: 'http' | 'https';
  readonly address: string;
  readonly port: number;
  readonly httpVersion: '1.1' | '3';
}

/** What a trace has of one request. The request asks one server at a time. */
export interface RequestTrace {
  readonly traceId: string;
  /** Trace that the client names and this node does not believe */
  readonly claimedTraceId: string | undefined;
  /** Fields for the server that is asked now */
  readonly fields: TraceFields;
  /** Notes that a server is asked. Has no effect while the same server is asked already. */
  passOn(server: NextServer): void;
  /** Notes that the server which is asked has failed. */
  failed(error: unknown): void;
  end(record: RequestRecord): void;
}

/** Ends what was traced. `failure`: why it did not succeed */
export type EndTrace = (failure?: string) => void;

export interface Tracer {
  /** `pathname`: path in its normal form */
  begin(request: GatewayRequest, pathname: string): RequestTrace;
  /** Begins to trace that a connection is handed over to a backend. Returns undefined where nothing records that. */
  handOver(backend: NextServer): EndTrace | undefined;
}
