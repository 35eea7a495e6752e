/** What a node says of its connection to another one. */
export interface LinkStatus {
  peer: string;
  /** Host and port. */
  address: string;
  state: 'open' | 'connecting' | 'waiting' | 'closed';
  /** Why the latest attempt failed or the latest connection ended. */
  reason?: string;
  rttMs?: number;
}

/** How a backend is, as its gateway sees it. */
export type BackendHealth = 'joining' | 'serving' | 'draining' | 'unhealthy' | 'lost';

/** What `/status` says of a backend. */
export interface BackendReport {
  name: string;
  id: number;
  addresses: string[];
  state: BackendHealth;
  backbone: LinkStatus;
  /** Connections of clients that know it. */
  connections: number;
  /** As it said last. */
  load: number;
  requestsActive: number;
  /** Of its UDP sockets, since its start. */
  bytesSent: number;
  bytesReceived: number;
  /** Requests that the gateway proxied there itself. */
  proxied: number;
}
