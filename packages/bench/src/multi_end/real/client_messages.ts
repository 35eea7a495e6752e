/** Task of one client process, passed as its argument */
export interface ClientTask {
  port: number;
  /** Protocol of the requests; backends answer clients over HTTP/3 alone */
  protocol: 'h3' | 'h2';
  /** Number of backends that must be open before the first request; 0 for a client without Multi-End */
  backends: number;
  requests: number;
  path: string;
  direction: 'download' | 'upload';
  /** Bytes of each body */
  bytes: number;
}

/** Orders to the client process. Each follows after the one before is done. */
export type ClientOrder = 'connect' | 'go';

export interface ClientResult {
  /** Share of the bytes, sent and received on all paths, that went over paths to backends: 0 to 1 */
  backendsShare: number;
}

/** Messages of the client process */
export type ClientNews =
  | { state: 'loaded' }
  | { state: 'connected' }
  | { state: 'done'; result: ClientResult }
  | { state: 'failed'; reason: string };
