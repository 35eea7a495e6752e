/** Bytes of a response whose delay is measured, as in the paper */
export const CLOCK_BYTES = 1_000;

/** Task of a client process, passed as its argument */
export interface DelayTask {
  port: number;
  path: string;
  /** Requests per second, whether earlier ones were answered or not; 0: one after the other on each connection */
  rate: number;
  connections: number;
  /** Requests that may be open at a time. More are left out, and counted. */
  most_open: number;
}

/** Orders to the client process: asks for so many seconds; ends. */
export type DelayOrder = { seconds: number } | 'end';

/** Measured delays. Times are medians in milliseconds. */
export interface Delays {
  requests: number;
  /** Requests that were not made, since too many were open */
  left_out: number;
  /** From the request of the client until the server behind the backend is asked */
  up_ms: number;
  /** From then on until the client has the response */
  down_ms: number;
  round_trip_ms: number;
  /** Responses that a backend sent by itself */
  returned: number;
}

/** Messages of the client process */
export type DelayNews =
  { state: 'connected' } | { state: 'done'; delays: Delays } | { state: 'failed'; reason: string };
