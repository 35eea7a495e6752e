import type { SocketAddress } from './address.js';
import type {
  BackendControl,
  BackendStatus,
  ImportedConnectionEvents,
  ServerConnectionEvents,
} from './multi_end_types.js';

/** Wish of one side about a path (RFC 10069 §3.3): a `backup` path rests while another one works. */
export type PathUse = 'available' | 'backup';

/** State of one path. Durations are in milliseconds, sizes in bytes; counts cover the life of the path. */
export interface PathStatus {
  /** Number of the path in its connection; the first one is 0. */
  id: number;
  /** Address of this side. */
  local: SocketAddress;
  /** Address of the peer. */
  remote: SocketAddress;
  /** `silent`: the peer acknowledged nothing for a probe timeout (RFC 9002 §6.2). */
  state: 'validating' | 'active' | 'silent' | 'abandoned';
  /** Wish that this side sent to the peer. */
  status: PathUse;
  /** Wish that the peer sent to this side. */
  peerStatus: PathUse;
  /** Smoothed round-trip time (RFC 9002 §5.3). */
  smoothedRttMs: number;
  /** Variation of the round-trip time (RFC 9002 §5.3). */
  rttVarianceMs: number;
  /** Shortest round-trip time so far. */
  minRttMs: number;
  /** Bytes that the congestion controller allows in flight. */
  congestionWindow: number;
  /** Bytes that were sent and neither acknowledged nor declared lost. */
  bytesInFlight: number;
  /** Bytes of UDP payload that were sent. */
  bytesSent: number;
  /** Bytes of UDP payload that were received. */
  bytesReceived: number;
  /** Packets that were sent. */
  packetsSent: number;
  /** Packets that were received and could be decrypted. */
  packetsReceived: number;
  /** Packets that were declared lost (RFC 9002 §6.1). */
  packetsLost: number;
  /** Maximum UDP payload that this side sends now. */
  mtu: number;
}

/** State of one connection. Durations are in milliseconds, sizes in bytes. */
export interface ConnectionStatus {
  /** First destination connection id of the client, in hexadecimal: the name of the connection in logs. */
  id: string;
  /** Protocol that both sides agreed on; empty while the handshake is pending. */
  alpn: string;
  /** State of the connection (RFC 9000 §10.2 for `closing` and `draining`). */
  state: 'handshake' | 'established' | 'closing' | 'draining' | 'closed';
  /** Bytes that the connection holds, as {@link ServerOptions.connectionMemory} counts them. */
  memoryBytes: number;
  /** Milliseconds since the connection began. */
  ageMs: number;
  /** Streams that are open now. */
  streamsOpen: number;
  /** Streams that were opened so far. */
  streamsTotal: number;
  /** DATAGRAM frames that were sent. */
  datagramsSent: number;
  /** DATAGRAM frames that were received. */
  datagramsReceived: number;
  /** DATAGRAM frames that were received and dropped, since the application did not read them in time. */
  datagramsUnread: number;
  /** Number of key updates so far, by either side (RFC 9001 §6). */
  keyUpdates: number;
  /** Reports of the peer about a tunnel that carries the connection */
  tunnelReportsReceived: number;
  /** True when the handshake used a ticket of an earlier connection (RFC 8446 §2.2); false while the handshake is pending. */
  resumed: boolean;
  /** True when the server accepted 0-RTT packets (RFC 9001 §4.6); false while the handshake is pending. */
  earlyData: boolean;
  /** True when both sides offered several paths. */
  multipath: boolean;
  /** True when both sides offered several servers. */
  multiEnd: boolean;
  /** All paths that are not forgotten yet. */
  paths: PathStatus[];
  /** Backends that this side knows of; empty without Multi-End. */
  backends: BackendStatus[];
}

/** Path that an event is about. */
export interface PathEventSubject {
  /** Number of the path in its connection. */
  id: number;
}

/** The client began to use a path, which carries data once it is validated. Servers only. */
export interface PathOpened extends PathEventSubject {
  /** Kind of the event. */
  type: 'opened';
}

/** A path works in both directions (RFC 9000 §8.2). */
export interface PathValidated extends PathEventSubject {
  /** Kind of the event. */
  type: 'validated';
}

/** A path leads to other addresses now. */
export interface PathMoved extends PathEventSubject {
  /** Kind of the event. */
  type: 'moved';
}

/** The peer wishes another use of a path. */
export interface PathStatusChanged extends PathEventSubject {
  /** Kind of the event. */
  type: 'status';
  /** Wish of the peer. */
  status: PathUse;
}

/** A path is over. */
export interface PathAbandoned extends PathEventSubject {
  /** Kind of the event. */
  type: 'abandoned';
  /** Error code of the side that abandoned it (RFC 10069). */
  code: number;
  /** True when the peer abandoned it. */
  byPeer: boolean;
}

/** Event of one path, delivered at the end of the turn of the event loop in which it happened. */
export type PathEvent = PathOpened | PathValidated | PathMoved | PathStatusChanged | PathAbandoned;

/** Control of a connection's keys, for both sides. */
export interface KeyControl {
  /**
   * Replaces the keys of all packets (RFC 9001 §6). Returns false, and does nothing, before the handshake is confirmed, and
   * until the peer has acknowledged the present keys and three probe timeouts have passed.
   */
  updateKeys(): boolean;
}

/** Control of a connection's paths, for both sides. @throws QuicError `PATH_REFUSED`, `NO_MULTIPATH` */
export interface PathControl {
  /** Abandons a path, but not the last one. Data in flight on it is sent over the others. `code` defaults to 0. */
  abandonPath(id: number, code?: number): void;
  /** Tells the peer how this side wishes to use a path (RFC 10069 §3.3). */
  setPathStatus(id: number, status: PathUse): void;
  /** Sets the weight of a path for the `weighted` scheduler of this side, from 1, the default, to 1,000. */
  setPathWeight(id: number, weight: number): void;
}

/** Addresses of a new path. */
export interface OpenPathOptions {
  /** IP address of this host. */
  local: string;
  /** UDP port of this host. Default: a free one. */
  localPort?: number;
  /** Address of the server. Default: the one that the connection began with. */
  remote?: {
    /** IP address. */
    address: string;
    /** UDP port. */
    port: number;
  };
}

/** A connection whose requests a server gets. */
export interface ServedConnection extends PathControl, KeyControl {
  /** First destination connection id of the client, in hexadecimal. */
  readonly id: string;
  /** Sends the response to the request with this `streamId` on this path alone, see {@link ClientRequestOptions.onPath}. */
  pinStream(streamId: number, path: number): void;
  /**
   * Bounds the requests that the client cancels no longer (otherwise 1,000, and 100 a second). To be called for another node that
   * stands for many clients, and bounds what each of them cancels.
   */
  permitCancellations(): void;
  /** Reads the state of the connection; a copy. */
  status(): ConnectionStatus;
  /** Closes the connection with an error code of HTTP/3 (RFC 9114 §8.1; default H3_NO_ERROR) and a reason for its log. */
  close(code?: number, reason?: string): void;
}

/** A connection whose handshake was made with this server. */
export interface ServerConnection
  extends
    ServedConnection,
    BackendControl,
    NodeJS.EventEmitter<{ [K in keyof ServerConnectionEvents]: ServerConnectionEvents[K] }> {}

/**
 * A connection of which another server handed one path over (docs/internals/multi-end.md). Its requests come with the
 * server's `request` event, and `request.connection` is this object.
 */
export interface ImportedConnection
  extends
    ServedConnection,
    NodeJS.EventEmitter<{ [K in keyof ImportedConnectionEvents]: ImportedConnectionEvents[K] }> {
  /** Processes a `backendMessage` of the primary. @throws QuicError `BACKEND_MESSAGE` for one that no primary writes */
  receivePrimaryMessage(message: Uint8Array): void;
  /** Refuses new requests, so that the client may send them elsewhere, and returns the credit after the last one. */
  drain(): void;
  /** Drops the connection here; the client is not told. */
  forget(): void;
}

/** Counts of one server since it was made; names that end in `Gauge` are present values. Sizes are in bytes. */
export interface TransportCounters {
  /** Connections whose handshake was accepted. */
  connectionsAccepted: number;
  /** Connections that other servers handed over (docs/internals/multi-end.md). */
  connectionsImported: number;
  /** Connections that are open now. */
  connectionsOpenGauge: number;
  /** Handshakes that are pending now. */
  handshakesPendingGauge: number;
  /** Handshakes that failed. */
  handshakesFailed: number;
  /** Retry packets that were sent (RFC 9000 §8.1.2). */
  retriesSent: number;
  /** Version Negotiation packets that were sent (RFC 9000 §6.1). */
  versionNegotiationsSent: number;
  /** Stateless resets that were sent (RFC 9000 §10.3). */
  statelessResetsSent: number;
  /** UDP datagrams that were received. */
  datagramsReceived: number;
  /** UDP datagrams that were sent. */
  datagramsSent: number;
  /** Bytes of UDP payload that were received. */
  bytesReceived: number;
  /** Bytes of UDP payload that were sent. */
  bytesSent: number;
  /** Packets that were declared lost (RFC 9002 §6.1). */
  packetsLost: number;
  /** Calls about connections between JavaScript and the transport, in both directions. */
  javascriptCalls: number;
  /** Bytes that connections hold, as {@link ServerOptions.memory} counts them. */
  memoryBytesGauge: number;
  /** Number of times that each bound was reached (docs/reference/limits.md). */
  limitHits: Record<string, number>;
  /** Dropped packets by reason. */
  packetsDropped: Record<string, number>;
  /** Closed connections by the name of the error; a code without a name counts as `OTHER`, `APPLICATION_OTHER` or `CRYPTO_ERROR_other`. */
  connectionsClosed: Record<string, number>;
}
