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
  /** Process whose processor time each reading has */
  watched: number;
}

/** Orders to the client process: opens its connections; begins to ask, until its end; reads; ends. */
export type LoadOrder = 'connect' | 'ask' | 'read' | 'end';

/** What has come and gone so far, all at one instant */
export interface Reading {
  /** Bytes of bodies */
  bytes: number;
  /** Time on a clock of the client process */
  seconds: number;
  /** Processor time of the watched process */
  processor_s: number;
}

/** Messages of the client process */
export type LoadNews =
  | { state: 'loaded' }
  | { state: 'connected' }
  | { state: 'asking' }
  | { state: 'read'; reading: Reading }
  | { state: 'failed'; reason: string };
