/** Task of a client process, passed as its argument */
export interface LoadTask {
  port: number;
  path: string;
  /** Bytes of each body */
  bytes: number;
  connections: number;
  /** Requests at a time on each connection */
  streams: number;
  /** Packets for each acknowledgement */
  packetsPerAck: number;
}

/** Orders to the client process: opens its connections; asks for so many seconds; ends. */
export type LoadOrder = 'connect' | { seconds: number } | 'end';

/** What the client received between two readings */
export interface Received {
  requests: number;
  /** Time from the first request to the last byte */
  seconds: number;
}

/** Messages of the client process */
export type LoadNews =
  | { state: 'loaded' }
  | { state: 'connected' }
  | { state: 'done'; received: Received }
  | { state: 'failed'; reason: string };
