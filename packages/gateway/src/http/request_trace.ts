import type { Delivered } from './delivered.js';

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

/** What became of a request */
export interface TracedOutcome {
  route: string;
  status: number;
  bytesSent: number;
  delivered: Delivered | undefined;
  aborted: boolean;
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
  end(outcome: TracedOutcome): void;
}
