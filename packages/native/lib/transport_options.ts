import type { BackendKeyMode } from './multi_end_types.js';

/**
 * Congestion controller of each path: CUBIC (RFC 9438), NewReno (RFC 9002 §7), BBR, or OLIA (Khalili et al., "MPTCP Is Not
 * Pareto-Optimal", 2013). OLIA couples the paths of a connection: together they take no more than one path where they
 * share a link.
 */
export type CongestionControl = 'cubic' | 'new_reno' | 'bbr' | 'olia';

/**
 * Rule that chooses the path of the next packet:
 *
 * - `min-rtt`: the path with the shortest round trip that has room.
 * - `ecf`: the same, unless waiting for the fastest path completes earlier (Lim et al., "ECF: An MPTCP Path Scheduler to
 *   Manage Heterogeneous Paths", 2017).
 * - `blest`: the same, unless the slower path would block the receive window (Ferlin et al., "BLEST: Blocking
 *   Estimation-based MPTCP Scheduler for Heterogeneous Networks", 2016).
 * - `round-robin`: each path in turn.
 * - `weighted`: each path in turn, as often as `setPathWeight` of the connection says.
 * - `redundant`: everything on all paths.
 * - `backup-only`: one path until it fails.
 */
export type PathScheduler = 'ecf' | 'min-rtt' | 'round-robin' | 'weighted' | 'blest' | 'redundant' | 'backup-only';

/**
 * Rule that chooses the stream of the next packet:
 *
 * - `critical-first`: what a page needs first, each stream to its end.
 * - `rfc9218`: by the urgency of RFC 9218.
 * - `fcfs`: first come, first served.
 * - `rr`: each stream in turn.
 * - `wrr`, `swrr`, `dwrr`: by the weights of the dependency tree.
 * - `sa-ecf`: a path for each stream, so that streams complete early.
 *
 * `rr` to `sa-ecf` are those of Nguyen et al., "A Novel Framework for HTTP/2 over MPQUIC: Design and Implementation".
 * `wrr-burst`, `swrr-released`, `dwrr-root-only` and `sa-ecf-released` follow the code that was released with it, where that
 * differs from the text (docs/internals/stream-schedulers.md).
 */
export type StreamScheduler =
  | 'critical-first'
  | 'rfc9218'
  | 'fcfs'
  | 'rr'
  | 'wrr'
  | 'wrr-burst'
  | 'swrr'
  | 'swrr-released'
  | 'dwrr'
  | 'dwrr-root-only'
  | 'sa-ecf'
  | 'sa-ecf-released';

/** Transport settings of servers and clients. Durations are in milliseconds, sizes in bytes. */
export interface TransportOptions {
  /** Protocols that a client offers or a server accepts, the preferred one first. Default `['h3']`. */
  alpn: string[];
  /** Closes a connection after so many milliseconds of silence (RFC 9000 §10.1). Default 30,000. */
  idleTimeoutMs?: number;
  /** Sends a PING after so many milliseconds of silence. Default 0, which sends none. */
  keepAliveMs?: number;
  /** Bytes that the peer may send on the connection before any of them is read. Default 1 MiB; grows up to `maxConnectionWindow`. */
  initialConnectionWindow?: number;
  /** Maximum receive window of the connection, in bytes. Default 24 MiB. */
  maxConnectionWindow?: number;
  /** Bytes that the peer may send on one stream before any of them is read. Default 256 KiB; grows up to `maxStreamWindow`. */
  initialStreamWindow?: number;
  /** Maximum receive window of one stream, in bytes. Default 8 MiB. */
  maxStreamWindow?: number;
  /**
   * Bytes that the peer may keep in its table of header fields (RFC 9204). Default 4,096. With 0 the peer does not hear of
   * messages that are not read to their end, of which some peers bear only so many in succession.
   */
  qpackTableCapacity?: number;
  /** Bidirectional streams that the peer may have open at one time. Default 1,000. */
  maxBidirectionalStreams?: number;
  /** Unidirectional streams that the peer may have open at one time. Default 1,000. */
  maxUnidirectionalStreams?: number;
  /** Maximum size of a DATAGRAM frame that this side accepts, in bytes (RFC 9221 §3). Default 65,535; 0 accepts none. */
  maxDatagramFrameSize?: number;
  /**
   * Makes a client that measures servers: it acknowledges each time that so many packets have come, 2 to 257, whatever the server
   * asks for, and takes no datagrams that are larger than those of Ethernet. Default: every second packet, or as the server asks
   * (draft-ietf-quic-ack-frequency), of any size.
   */
  packetsPerAck?: number;
  /**
   * Bytes of UDP payload that are sent at most, and accepted (`max_udp_payload_size`, RFC 9000 §18.2), 1200 to 65527: for a path that
   * carries no more, and where larger packets do harm. Default: what the path carries.
   */
  longestDatagram?: number;
  /**
   * Follows what peers report about tunnels that carry their connections, within what this side would send by itself
   * (docs/reference/wire.md). Default: servers do.
   */
  followTunnelReports?: boolean;
  /**
   * Bytes of UDP payload with which a client begins, 1200 to 1452. A connection that is to carry packets of 1200 bytes in a tunnel wants
   * 1350. When nothing comes back for the first ones, the client goes on with 1200 and finds what its path carries. Default 1200.
   */
  firstDatagram?: number;
  /** Default `cubic`. */
  congestionControl?: CongestionControl;
  /** Offers several paths per connection (RFC 10069). Default true. */
  multipath?: boolean;
  /**
   * Offers several servers on one connection (docs/internals/multi-end.md), which are used when the peer offers them, too.
   * Needs `multipath`. Default false.
   */
  multiEnd?: boolean;
  /** Accepted ways to protect the packets of backends. Default both; `per-path` is preferred. */
  backendKeyModes?: readonly BackendKeyMode[];
  /**
   * A client permits backends of the server to send to it from the server's address with packet numbers and recovery of their own,
   * each on a path of the connection that the client only receives (docs/internals/direct-return.md). A server agrees. Connections
   * that use Multi-End have no such paths. Needs `multipath`. Default false.
   */
  returnPaths?: boolean;
  /** Default `ecf`. */
  pathScheduler?: PathScheduler;
  /** Default `critical-first`. */
  streamScheduler?: StreamScheduler;
  /** Announces HTTP datagrams (RFC 9297), which channels between the nodes of a site need. Default false. */
  datagrams?: boolean;
  /** Directory that receives one `<odcid>.sqlog` per connection (draft-ietf-quic-qlog). Default none. */
  qlogDirectory?: string;
  /** File that TLS secrets are appended to, in the SSLKEYLOGFILE format. Default none. Who reads it can read the traffic. */
  keyLogFile?: string;
}

/** A certificate with its key, both as PEM text. */
export interface CertificatePair {
  /** The server's certificate, followed by those of its chain. */
  certificate: string;
  /** Private key of the first certificate. */
  privateKey: string;
}

/** A secret that a server keeps over restarts, or shares with other servers behind its address. */
export interface ServerSecret {
  /** 0 to 6; no two secrets of a server have the same. It stands in the first three bits of connection ids. */
  number: number;
  /** 32 bytes, uniformly random. */
  secret: Uint8Array;
}

/** What stands in the connection ids of a server, so that balancers find it by them (draft-ietf-quic-load-balancers-21). */
export interface ServerId {
  /** 1 to 11 bytes; all servers behind one balancer have ids of one length. Ids of 8 bytes cost balancers least. */
  id: Uint8Array;
  /** Only balancers with the key of a secret can read it. Needs `secrets`. Default true. */
  encrypted?: boolean;
}

/** Which worker of a group a server is. */
export interface WorkerPlace {
  /** Number of the group (`WorkerGroup.number`). */
  group: number;
  /** Number of the worker, from 0. */
  index: number;
}

/** Options of `createHttp3Server`. */
export interface ServerOptions extends TransportOptions {
  /** IP address of this host to listen on. */
  address: string;
  /** Further addresses of this host, with the same port. A connection can have paths to all of them. */
  furtherAddresses?: readonly string[];
  /** UDP port; 0 takes a free one. */
  port: number;
  /** Certificate for new handshakes; `updateCertificate` of the server replaces it. */
  certificate: CertificatePair;
  /**
   * Secrets of which the keys of tokens, tickets and stateless resets are made, so that they outlive the process: clients of
   * the process before resume, and hear at once that their connections are gone. The first one makes new keys, and what the
   * others made stays valid. `updateSecrets` of the server replaces them. Default none: random keys, which end with the server.
   */
  secrets?: readonly ServerSecret[];
  /**
   * Secrets of which the keys of tickets alone are made, for several servers of one process whose clients resume at each of them.
   * Default: `secrets`.
   */
  ticketSecrets?: readonly ServerSecret[];
  /**
   * Any text that names this server among all with the same `secrets`, and stays the same over restarts. Stateless resets are
   * worth something only for connections of servers with the same text, so that no server gives away how to reset those of
   * another one. A `serverId` is part of the name as well: then the text tells apart the listeners of one machine, and other
   * machines have to know it ({@link MachineLink}). Default: the empty text.
   */
  resetScope?: string;
  /**
   * Makes connection ids by which balancers find this server. The number of the first secret stands in their first three bits,
   * and is 0 without secrets. Default: the ids are random. A server to which connections are handed over needs an id of the
   * same length as the one that hands over.
   */
  serverId?: ServerId;
  /**
   * Secret of tokens and stateless resets for a server without `secrets`: 32 bytes that nobody can guess. A server with the same
   * address and the same one tells clients of the process before it at once that their connections are gone. It makes no keys of
   * tickets, so that who learns it reads nothing. `updateResetSecret` of the server replaces it. Default none.
   */
  resetSecret?: Uint8Array;
  /** Maximum number of connections. Default 10,000. */
  maxConnections?: number;
  /** Maximum number of connections from one IPv4 address, or from one IPv6 /56. Default 1,000. */
  maxConnectionsPerNetwork?: number;
  /**
   * Maximum number of bytes that one connection holds: unsent, unacknowledged and unread ones, and 32 KiB for each request
   * that JavaScript has. Requests beyond it wait in the transport. Default 8 MiB.
   */
  connectionMemory?: number;
  /**
   * Maximum number of bytes that all connections hold together; those of one network hold a quarter of it. Near the maximum each
   * connection gets less, and then some are closed. Default 256 MiB.
   */
  memory?: number;
  /** New handshakes per second that are accepted without Retry. Default 1,000. */
  handshakesPerSecond?: number;
  /** Maximum number of handshakes that are pending at one time. Default 4,096. */
  maxHalfOpenHandshakes?: number;
  /** When clients must prove their address before the handshake (RFC 9000 §8.1.2). Default `auto`: only under load. */
  retry?: 'auto' | 'always' | 'never';
  /** Maximum size of a request's fields in bytes: SETTINGS_MAX_FIELD_SECTION_SIZE (RFC 9114 §7.2.4.1). Default 64 KiB. */
  maxHeaderBytes?: number;
  /** Announces support of WebTransport. The `webtransport` event decides about each session. Default false. */
  webtransport?: boolean;
  /**
   * Announces extended CONNECT (RFC 9220) and HTTP datagrams (RFC 9297), as `webtransport` does, too. A request with
   * another `:protocol` than WebTransport's comes as a `request` event and is answered like any other. Its datagrams come
   * as capsules in its body. Datagrams that are sent otherwise cost it its stream (H3_DATAGRAM_ERROR). Default false.
   */
  extendedConnect?: boolean;
  /**
   * Which worker of a group the server is (`openWorkerGroup`). It has the sockets of that worker instead of `address`,
   * `furtherAddresses` and `port`. Default none.
   */
  worker?: WorkerPlace;
  /** Lets other sockets of the same user share the ports, such as one of `openReturnSocket`. Default false. */
  sharesPort?: boolean;
  /**
   * Permits `offerResponse`, whose grants have keys of the client's connection. Set it for a server of clients alone, never for one
   * that other nodes call. Default false.
   */
  offersResponses?: boolean;
}

/** Options of `connectHttp3`. */
export interface ClientOptions extends Partial<TransportOptions> {
  /** Name or IP address of the server. A name's addresses are tried one after the other (RFC 8305). */
  host: string;
  /** UDP port of the server. */
  port: number;
  /** Name for SNI and for the check of the certificate. Default: `host`. */
  serverName?: string;
  /** Accepts any certificate: for tests alone. Default false. */
  insecure?: boolean;
  /** PEM text of further certificate authorities, trusted beside those of the system. */
  certificateAuthority?: string;
  /** Accepted SHA-256 hashes of the server's certificate, in hexadecimal. They replace the check of its chain. */
  certificateHashes?: string[];
  /**
   * Accepted SHA-256 hashes of the public key (SubjectPublicKeyInfo) of the server's certificate, in hexadecimal. They replace
   * the check of its chain.
   */
  publicKeyHashes?: string[];
  /** IP address of this host to send from. Default: the system chooses. */
  localAddress?: string;
  /** UDP port to send from. Default: a free one. */
  localPort?: number;
  /** IP address and port that datagrams go to instead of those of `host` and `port`, which keep naming the server. */
  remote?: {
    /** IP address. */
    address: string;
    /** UDP port. */
    port: number;
  };
  /**
   * Maximum duration of the handshake in milliseconds; then connecting fails with `QuicError` `CONNECT_TIMEOUT`.
   * Default: `idleTimeoutMs`.
   */
  connectTimeoutMs?: number;
  /** Announces support of WebTransport, which `openWebTransport` needs. Default false. */
  webtransport?: boolean;
  /** Value of a `session` event of an earlier connection: resumes it (RFC 8446 §2.2) and allows 0-RTT. */
  session?: Buffer;
  /**
   * With a `session` that allows 0-RTT: resolves before the handshake is complete, and sends requests without a body whose method
   * is GET, HEAD or OPTIONS at once; others wait. Requests that the server refuses are sent again after the handshake. Anybody
   * on their way can replay them (RFC 8470 §3). Has no effect where `host` has several addresses. Default false.
   */
  earlyRequests?: boolean;
}
