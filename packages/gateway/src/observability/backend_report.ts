/** State of a node's connection to another node */
export interface LinkStatus {
  peer: string;
  /** Host and port */
  address: string;
  state: 'open' | 'connecting' | 'waiting' | 'closed';
  /** Why the latest attempt failed, or why the latest connection ended */
  reason?: string;
  rttMs?: number;
}

/** State of a backend, as its gateway sees it */
export type BackendHealth = 'joining' | 'serving' | 'draining' | 'unhealthy' | 'lost';

/** Entry of a backend in `/status` */
export interface BackendReport {
  name: string;
  id: number;
  addresses: string[];
  state: BackendHealth;
  backbone: LinkStatus;
  /** Connections of clients that know the backend */
  connections: number;
  /** Load in the latest report */
  load: number;
  requestsActive: number;
  /** Bytes over its UDP sockets since its start */
  bytesSent: number;
  bytesReceived: number;
  /** Requests that the gateway itself proxied to the backend, also those with responses that the backend sent */
  proxied: number;
  /** Responses that the backend is sending from the gateway's address */
  returning: number;
  /** Whether the backend has said that it can send from the gateway's address */
  returns: boolean;
  /** Connection for runs, by which the gateway orders such responses. Absent when no route permits them */
  runs?: LinkStatus;
}
