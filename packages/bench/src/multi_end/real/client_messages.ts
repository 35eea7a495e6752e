/** What one client process is to do, as its argument. */
export interface ClientTask {
  port: number;
  /** Backends that have to be open before the first request; 0: a client without Multi-End. */
  backends: number;
  requests: number;
  path: string;
  direction: 'download' | 'upload';
  /** Of each body. */
  bytes: number;
}

/** What it is told: each step once the one before is done. */
export type ClientOrder = 'connect' | 'go';

export interface ClientResult {
  /** Of what it sent and received on all paths, the share on those to backends: 0 to 1. */
  backendsShare: number;
}

/** What it tells. */
export type ClientNews =
  | { state: 'loaded' }
  | { state: 'connected' }
  | { state: 'done'; result: ClientResult }
  | { state: 'failed'; reason: string };
