import { createRequire } from 'node:module';
import type { SocketAddress } from './address.js';
import type { ChannelCounts, ChannelSourceStatus } from './channel_types.js';
import { QuicError } from './quic_error.js';
import type { InheritedGroup } from './worker_group_types.js';
import type { StreamPriority } from './stream_priority.js';
import type { ServerId, ServerSecret } from './transport_options.js';

/** Names and values in one flat list: name, value, name, value … Pseudo-fields (`:path`) come first. */
export type FlatFields = string[];

/** First element of every event of the addon; the same numbers as `src/binding/event_kind.h`. */
export const EventKind = {
  established: 0,
  connectionClosed: 1,
  settings: 2,
  request: 3,
  response: 4,
  trailers: 5,
  bodyReadable: 6,
  messageFinished: 7,
  bodyWritable: 8,
  streamReset: 9,
  writingStopped: 10,
  streamClosed: 11,
  requestsAvailable: 12,
  goAway: 13,
  sessionTicket: 14,
  returnLost: 15,
  returnRoom: 16,
  returnOver: 17,
  sessionReady: 20,
  sessionRejected: 21,
  sessionClosed: 22,
  sessionDraining: 23,
  sessionStream: 24,
  sessionStreamReadable: 25,
  sessionStreamWritable: 26,
  sessionStreamReset: 27,
  sessionStreamStopped: 28,
  sessionStreamClosed: 29,
  sessionDatagrams: 30,
  sessionStreamsAvailable: 31,
  sessionDatagramsWritable: 32,
  pathsAvailable: 40,
  pathOpened: 41,
  pathValidated: 42,
  pathMoved: 43,
  pathStatus: 44,
  pathAbandoned: 45,
  multiEndReady: 50,
  backendMessage: 51,
  backendPathAbandoned: 52,
  primaryMessage: 53,
  drained: 54,
  backendOffered: 55,
  backendWithdrawn: 56,
  primaryLost: 57,
  channelState: 60,
  channelGroup: 61,
  channelOver: 62,
  tunnelOver: 70,
  streamTunnelBytes: 71,
  streamTunnelOver: 72,
  tunnelPeer: 73,
  tunnelReport: 74,
} as const;
export type EventKind = (typeof EventKind)[keyof typeof EventKind];

/** `[kind, connection, …]`; the kind decides what follows. */
export type NativeEvent = [EventKind, number, ...unknown[]];

export interface NativeEndpointOptions {
  /** At least one. Port 0 takes a free port for the first address, and the same port for the others. */
  addresses: string[];
  port: number;
  reusePort: boolean;
  /** Whether streams of its connections may be offered to backends */
  offersResponses: boolean;
  /** HTTP datagrams (RFC 9297), which `extendedConnect` and `webtransport` announce, too */
  datagrams: boolean;
  alpn: string[];
  server: boolean;
  certificate: string;
  privateKey: string;
  /** For tokens and stateless resets; none: random keys */
  secrets: readonly ServerSecret[];
  /** Names the server among all with the same secrets, for stateless resets. */
  resetScope: string;
  /** For tickets; none: random keys */
  ticketSecrets: readonly ServerSecret[];
  /** Without bytes, connection ids are random. */
  serverId: Required<ServerId>;
  /** 0: the endpoint has sockets of its own. */
  workerGroup: number;
  worker: number;
  webtransport: boolean;
  extendedConnect: boolean;
  idleTimeoutMs: number;
  keepAliveMs: number;
  packetsPerAck: number;
  initialConnectionWindow: number;
  maxConnectionWindow: number;
  initialStreamWindow: number;
  maxStreamWindow: number;
  maxBidirectionalStreams: number;
  maxUnidirectionalStreams: number;
  maxDatagramFrameSize: number;
  congestionControl: string;
  multipath: boolean;
  /** Bytes of UDP payload, in both directions; 0 = what the path carries */
  longestDatagram: number;
  followTunnelReports: boolean;
  firstDatagram: number;
  /** Bits: 1 = shared, 2 = per path; 0 = no backends. */
  backendKeyModes: number;
  returnPaths: boolean;
  pathScheduler: string;
  streamScheduler: string;
  maxConnections: number;
  maxConnectionsPerNetwork: number;
  /** Maximum number of bytes that one connection holds, and all together; 0 = no bound. */
  connectionMemory: number;
  memory: number;
  handshakesPerSecond: number;
  maxHalfOpenHandshakes: number;
  retry: string;
  maxHeaderBytes: number;
  qpackTableCapacity: number;
  qlogDirectory: string;
  keyLogFile: string;
}

export interface NativeConnectOptions {
  remoteAddress: string;
  remotePort: number;
  serverName: string;
  insecure: boolean;
  certificateAuthority: string;
  certificateHashes: string[];
  publicKeyHashes: string[];
  session: Buffer | undefined;
}

/** Results of calls that may be refused: numbers from 0 are successes, negative numbers refusals. */
export const Refusal = {
  [-1]: 'not ready',
  [-2]: 'stream limit',
  [-3]: 'the peer is going away',
  [-4]: 'unknown stream',
  [-5]: 'wrong state',
  [-6]: 'invalid field',
  [-7]: 'fields too large',
  [-8]: 'not supported',
  [-9]: 'connection closed',
} as const;

/** The numbers of `PathRefusal` in src/connection/path_refusal.h. */
export const PathRefusal = {
  [-1]: 'the peer does not speak multipath',
  [-2]: 'the handshake is not confirmed yet',
  [-3]: 'only the client opens paths',
  [-4]: 'the server forbids it',
  [-5]: 'both sides together allow no more paths',
  [-6]: 'the peer gave no connection id for it',
  [-7]: 'there is no such path',
  [-8]: 'it is the last one',
  [-9]: 'there is no such stream',
  [-10]: 'the stream belongs to another server than the path leads to',
} as const;

/** The numbers of `BackendRefusal` in src/multi_end/backends.h. */
export const BackendRefusal = {
  [-1]: 'the peer does not speak Multi-End',
  [-2]: 'the handshake is not confirmed yet, or keys are being replaced',
  [-3]: 'no path is left for it',
  [-4]: 'it was not handed over or offered, or is withdrawn',
  [-5]: 'it is offered or opened already',
} as const;

/** The numbers of `ImportRefusal` in src/endpoint/endpoint.h. */
export const ImportRefusal = {
  [-1]: 'it is of another version',
  [-2]: 'it is malformed',
  [-3]: 'a value is out of its range',
  [-4]: 'its connection ids are in use here: it was imported before',
  [-5]: 'its keys or connection ids are unusable',
  [-6]: 'there are too many connections, or the server is closed',
} as const;

/** `quic::GrantRefusal` in src/direct_return/executor.h, and what src/binding/return_calls.cc adds. */
export const GrantRefusal = {
  [-1]: 'it was made for another process',
  [-2]: 'it names an address that this node may not send from',
  [-3]: 'its number is in use',
  [-4]: 'there are too many grants',
  [-5]: 'it does not fit to other grants of its connection',
  [-20]: 'it is malformed',
  [-21]: 'the session has ended',
  [-22]: 'this node sends as many files or holds as many bytes as it may',
} as const;

/**
 * Why a connection cannot have a response that a backend sends. `unconfirmed`: its handshake is not confirmed. `paths`: the client
 * has a second path, or abandoned the first. `backends`: as many others as possible send for the connection. `taken`: the response
 * is granted already. `grants`: as many responses as may be at a time are granted. `ended`: the connection or the session with the
 * backend has ended.
 */
export type OfferRefusal = 'unconfirmed' | 'paths' | 'backends' | 'taken' | 'grants' | 'ended';

/** `quic::OfferRefusal` in src/direct_return/delegated_streams.h; `ended` is of src/binding/return_calls.cc. */
export const OfferRefusals = {
  [-1]: 'unconfirmed',
  [-2]: 'paths',
  [-3]: 'backends',
  [-4]: 'taken',
  [-5]: 'grants',
  [-20]: 'ended',
} as const satisfies Record<number, OfferRefusal>;

export function refusalText(code: number): string {
  return (Refusal as Record<number, string>)[code] ?? `refused (${code})`;
}

export interface DatagramCounts {
  sent: number;
  acknowledged: number;
  lost: number;
  /** Datagrams dropped because the queue was full. */
  expired: number;
}

/** UDP sockets with their connections (`src/binding/endpoint_object.h`). */
export interface NativeEndpoint {
  /** Throws with `code` set to the system's error name. */
  bind(): { address: string; port: number; family: 'IPv4' | 'IPv6' };
  connect(options: NativeConnectOptions): number;
  setCertificate(certificate: string, privateKey: string): void;
  /** Without secrets for tickets, the keys of tickets stay as they are. */
  setSecrets(secrets: readonly ServerSecret[], ticketSecrets: readonly ServerSecret[]): void;
  submitRequest(connection: number, fields: FlatFields, hasBody: boolean): number;
  submitInformational(connection: number, stream: number, fields: FlatFields): number;
  submitResponse(connection: number, stream: number, fields: FlatFields, hasBody: boolean): number;
  /** Sends trailers, which end the body and the message. */
  submitTrailers(connection: number, stream: number, fields: FlatFields): number;
  /**
   * Returns 1 when the chunk was taken, 0 when it was taken and the buffer is full: wait for `bodyWritable`. The chunk
   * is lent until its bytes are acknowledged; then it goes back to the pool if it came from there.
   */
  writeBody(
    connection: number,
    stream: number,
    chunk: Uint8Array | undefined,
    fin: boolean,
    fromPool?: boolean,
  ): number;
  /**
   * Returns the number of bytes to write next, which are kept free until they are written; 0 = wait for `bodyWritable`.
   */
  reserveBody(connection: number, stream: number): number;
  /** Returns a Buffer of this size from the endpoint's pool, with arbitrary content. */
  takeBuffer(bytes: number): Buffer;
  /** Returns the bytes in a Buffer of their own. */
  readBody(connection: number, stream: number): Buffer | undefined;
  /** Returns the number of bytes copied. */
  readBodyInto(connection: number, stream: number, into: Uint8Array): number;
  stopReading(connection: number, stream: number, code: number): void;
  resetStream(connection: number, stream: number, code: number): void;
  closeConnection(connection: number, code: number, reason: string): void;
  /** Sends GOAWAY to every peer and accepts no new connections. */
  shutDown(): void;
  /** Asks the peer for a sign of life (RFC 9000 §19.2). */
  ping(connection: number): void;
  acceptSession(connection: number, stream: number, fields: FlatFields): number;
  rejectSession(connection: number, stream: number, status: number): number;
  requestSession(connection: number, fields: FlatFields): number;
  closeSession(connection: number, session: number, code: number, reason: string): void;
  drainSession(connection: number, session: number): void;
  openSessionStream(connection: number, session: number, unidirectional: boolean): number;
  writeSessionStream(connection: number, stream: number, chunk: Uint8Array | undefined, fin: boolean): number;
  /** Returns the number of bytes that one `readSessionStream` gives; -1 = the end. */
  sessionStreamAvailable(connection: number, stream: number): number;
  /** Returns the number of bytes copied. */
  readSessionStream(connection: number, stream: number, into: Uint8Array): number;
  resetSessionStream(connection: number, stream: number, code: number): void;
  stopSessionStream(connection: number, stream: number, code: number): void;
  /** Sets the priority of the bytes that this side sends. Nodes are those of the connection, not of a session. */
  setStreamPriority(connection: number, stream: number, priority: StreamPriority): void;
  /**
   * Sets the length that the stream will have, for schedulers that look at the remaining bytes. Responses tell it by
   * their Content-Length.
   */
  setExpectedBytes(connection: number, stream: number, bytes: number): void;
  /**
   * Returns 1 = taken, 0 = no room. A datagram without room counts as expired, unless the caller waits for
   * `sessionDatagramsWritable` to try again.
   */
  sendSessionDatagram(connection: number, session: number, payload: Uint8Array, waits: boolean): number;
  /** Sends datagrams of these sizes, one behind the other. Datagrams that find no room expire. */
  sendSessionDatagrams(connection: number, session: number, bytes: Uint8Array, sizes: Uint32Array): void;
  maxSessionDatagram(connection: number, session: number): number;
  /** Returns the counts of an open session's datagrams. */
  sessionDatagramCounts(connection: number, session: number): DatagramCounts | undefined;
  /**
   * Returns the path's id or a `PathRefusal`. Port 0 makes a socket. Throws with `code` set to the system's error name.
   */
  openPath(connection: number, local: NativeAddress, remote: NativeAddress): number;
  /** Returns false when migration is not permitted now. Port 0 makes a socket. Throws as `openPath`. */
  migrate(connection: number, local: NativeAddress): boolean;
  /** Returns 0 or a `PathRefusal`, as do the next three. */
  abandonPath(connection: number, path: number, code: number): number;
  setPathStatus(connection: number, path: number, backup: boolean): number;
  setPathWeight(connection: number, path: number, weight: number): number;
  pinStream(connection: number, path: number, stream: number): number;
  /** Returns the snapshot or a `BackendRefusal`. */
  handOverBackend(connection: number, backend: number, address: NativeAddress): Buffer | number;
  /**
   * Gateway: makes a long request the channel to a backend. Processes are named by 8 bytes. Returns the number of the session
   * within the thread, which ends with the connection; 0 when the connection is gone.
   */
  openOrders(
    connection: number,
    stream: number,
    session: number,
    process: Uint8Array,
    backendProcess: Uint8Array,
  ): number;
  /** Returns a grant, which contains keys, for a backend that may send the response; or one of `OfferRefusals`. */
  offerStream(
    connection: number,
    stream: number,
    session: number,
    ownRecovery: boolean,
  ): Buffer | keyof typeof OfferRefusals;
  /**
   * Sends the head, and leaves the body to the backend that has the grant. Returns the offset of the body's first byte in the
   * stream, or a `Refusal`.
   */
  handOff(connection: number, stream: number, head: Uint8Array, bodyLength: number): number;
  /** Returns the offset before which the client has all bytes of a response; 0 when the stream has closed. */
  acknowledgedOffset(connection: number, stream: number): number;
  /** Takes a grant back. `declined`: the backend surely sent nothing. */
  revokeStream(connection: number, stream: number, declined: boolean): void;
  /** Returns whether another node may answer after that: 0 = yes, 1 = not yet, 2 = no. */
  streamDoubt(connection: number, stream: number): number;
  /** Sends part of a body that was handed off, at an offset in the stream. Returns what `writeBody` returns. */
  writeInstead(connection: number, stream: number, offset: number, chunk: Uint8Array | undefined, fin: boolean): number;
  /** Backend: makes a long request the channel to a gateway, for which these sockets send. Returns as `openOrders`. */
  openExecutor(
    connection: number,
    stream: number,
    session: number,
    process: Uint8Array,
    sockets: NativeReturnSocket[],
    ownRecovery: boolean,
  ): number;
  /**
   * Lets the gateway of a session have a body sent, behind an encoded head. The body is part of the file of a descriptor, from
   * `position` on; or it is these bytes, which are lent; or it is appended. `waited` is the time in ms since the request came. Wipes
   * the grant. Returns the number of the body, or a `GrantRefusal`. `returnOver` follows once.
   */
  acceptGrant(
    session: number,
    grant: Uint8Array,
    head: Uint8Array,
    length: number,
    body: number | Uint8Array | undefined,
    position: number,
    waited: number,
  ): number;
  /**
   * Appends bytes to a body, and lends them. Returns 1; 0 when no more should come before `returnRoom`; -1 when the body is over.
   */
  appendReturned(body: number, bytes: Uint8Array): number;
  /** Ends a body whose rest will never come, with a code of HTTP/3. */
  failReturned(body: number, code: number): void;
  /** Returns how many bytes at the beginning of a body were sent so far. */
  returnedBytes(body: number): number;
  executorStats(session: number): ExecutorStats | undefined;
  /** Ends a session, unless the connection carries another one by now. */
  closeNodeSession(connection: number, session: number): void;
  /**
   * Source: offers the channel on a request whose response was sent without its end. Returns false when the connection is gone or
   * has as many channels as it may. `client`: the address from which the connection was opened.
   */
  serveChannel(connection: number, stream: number, source: NativeChannelSource | string, client: string): boolean;
  /** Receiver: takes over a request whose response has come. Returns as `serveChannel`. Throws for options that are wrong. */
  watchChannel(connection: number, stream: number, options: NativeWatchOptions): boolean;
  /** Copies bytes of a group of objects in order. Returns how many. */
  readChannelGroup(connection: number, stream: number, group: number, into: Uint8Array): number;
  /** Receiver: returns counts; undefined before the offer. */
  channelStatus(connection: number, stream: number): ChannelCounts | undefined;
  leaveChannel(connection: number, stream: number): void;
  /** Receiver: frees what is left of a channel that is over. */
  forgetChannel(connection: number, stream: number): void;
  /**
   * Connects a request for UDP proxying, whose response follows, to its target. Returns the local address; undefined when the
   * connection is gone, or the target is no IP address. Throws with the system's `code`.
   */
  openTunnel(connection: number, stream: number, options: NativeTunnelOptions): SocketAddress | undefined;
  /**
   * Opens a local port of which each peer gets a tunnel. With the address of a program, it is a relay instead: that program names the
   * target of each packet in front of it, and each target gets a tunnel. Returns its number and address; undefined when the connection
   * is gone. Throws with the system's `code`. `tunnelPeer` follows for each peer that sends something, or for each target, which it
   * names then.
   */
  openTunnelPort(
    connection: number,
    local: NativeAddress,
    program?: NativeAddress,
    /** Socket that is bound to the address; the port makes a descriptor of its own. Not for a relay */
    bound?: number,
  ): [port: number, address: SocketAddress] | undefined;
  /**
   * Connects a request for UDP proxying, whose response has come, to a peer of a local port. Returns false when the connection or the
   * peer is gone. Throws with the system's `code`.
   */
  forwardTunnelPeer(
    connection: number,
    stream: number,
    port: number,
    peer: number,
    options: NativeTunnelCarriage,
  ): boolean;
  /** Drops what a peer has sent. The next packet asks again. */
  refuseTunnelPeer(connection: number, port: number, peer: number): void;
  /** Closes a local port, and may end its tunnels, of which `tunnelOver` tells. */
  closeTunnelPort(connection: number, port: number, endsTunnels: boolean): void;
  /**
   * Connects a tunnel whose stream is carried here, as one of its carrier's. Returns also its number; undefined when the endpoint
   * is closed, or the target is no IP address. Throws as `openTunnel`. Bytes for the client come as events, and no more of them
   * before `goOnStreamTunnel`. The last event tells that the tunnel is over; after it, calls do nothing.
   */
  openStreamTunnel(carrier: number, options: NativeTunnelOptions): (SocketAddress & { number: number }) | undefined;
  writeStreamTunnel(tunnel: number, bytes: Uint8Array): void;
  /** The client has ended its side. */
  finishStreamTunnel(tunnel: number): void;
  goOnStreamTunnel(tunnel: number): void;
  /** The client is gone. */
  leaveStreamTunnel(tunnel: number): void;
  /** Returns how many tunnels are open, and the counts of all so far (lib/tunnel.ts); undefined before the first one. */
  tunnelCounts(): [open: number, waitingBytes: number, counts: number[], responseMs?: number] | undefined;
  /** Returns 0 or a `BackendRefusal`, as does the next. */
  offerBackend(connection: number, backend: number): number;
  withdrawBackend(connection: number, backend: number, gone: boolean): number;
  /** Returns false for a message that no backend of this number writes. */
  receiveBackendMessage(connection: number, backend: number, message: Uint8Array): boolean;
  /** Returns the connection or an `ImportRefusal`. */
  importConnection(snapshot: Uint8Array): number;
  receivePrimaryMessage(connection: number, message: Uint8Array): boolean;
  drainBackend(connection: number): void;
  forgetConnection(connection: number): void;
  /**
   * Returns the path's id or a `BackendRefusal`. Throws as `openPath`. Without an address the path begins at the
   * endpoint's own.
   */
  openBackend(connection: number, backend: number, local: NativeAddress | undefined): number;
  /** Server: bounds the requests that the peer cancels no longer. */
  permitCancellations(connection: number): void;
  /** Gives packets new keys from now on (RFC 9001 §6). Returns false when that is not possible yet. */
  updateKeys(connection: number): boolean;
  /** Sends a report about the tunnel that carries the connection. Returns false when the peer follows none. */
  reportTunnel(connection: number, report: Uint8Array): boolean;
  connectionStatus(connection: number): unknown;
  connections(): number[];
  counters(): unknown;
  close(): void;
}

export interface NativeLinkOptions {
  down: boolean;
  mtu: number;
  queueBytes: number;
  queuePackets: number;
  queueDiscipline: string;
  markBytes: number;
  /** Bits per second; 0 = no limit. */
  rate: number;
  trace: string;
  loss: number;
  lossCorrelation: number;
  burstLoss: number;
  burstLength: number;
  duplication: number;
  delayMs: number;
  jitterMs: number;
  jitterCorrelation: number;
  reordering: number;
  reorderingDelayMs: number;
}

/** `src/binding/link_relay_object.h` */
export interface NativeLinkRelay {
  /** Throws with `code` set to the system's error name. */
  bind(): { address: string; port: number; family: 'IPv4' | 'IPv6' };
  setConfig(there: NativeLinkOptions, back: NativeLinkOptions): void;
  setDown(down: boolean): void;
  stats(): unknown;
  close(): void;
}

export interface NativeAddress {
  address: string;
  port: number;
}

/** Counts of a session with a gateway since its begin. */
export interface ExecutorStats {
  /** Grants that are open now */
  grants: number;
  /** Runs that were sent */
  runs: number;
  /** Packets that were sent */
  packets: number;
  /** Bytes of UDP payload */
  bytes: number;
  /** Runs that were not sent, by reason */
  refused: Record<'late' | 'low' | 'otherPhase' | 'outOfBounds' | 'noData' | 'paused' | 'tooMany' | 'broken', number>;
  /** Grants whose gateway fell silent */
  expired: number;
}

export interface NativeTunnelCarriage {
  idleMs: number;
  queueBytes: number;
  /** Place in `tunnelModes` */
  mode: number;
  /** Place in `TunnelReports` in src/tunnel/mode.h */
  reports: number;
  /** Place in `PayloadContexts::Side` in src/tunnel_request/payload_contexts.h */
  contextSide: number;
  /** Ids of the peer, in fours */
  contexts: readonly number[];
}

export interface NativeTunnelOptions extends NativeTunnelCarriage {
  address: string;
  port: number;
  /** Empty: no limit */
  rateName: string;
  bytesPerSecond: number;
}

/** Options of a channel's source. Rates are in bytes per second. */
export interface NativeChannelSourceOptions {
  /** Undefined: copies by unicast alone */
  group: NativeAddress | undefined;
  source: string;
  /** Undefined: this host sends to the group itself */
  relay: NativeAddress | undefined;
  /** Empty: the one that has the source's address */
  interface: string;
  hops: number;
  packetSize: number;
  rate: number;
  /** 0: the rate never changes */
  slowestRate: number;
  copyRate: number;
  reach: number;
  deadlineMs: number;
  reportIntervalMs: number;
  keyIntervalMs: number;
  keyOnLeaving: boolean;
  maxReceivers: number;
  authentication: 'signed' | 'timed' | 'per-packet' | 'none';
  /** 32 bytes, which the call wipes; undefined: a random one */
  seed: Uint8Array | undefined;
  repairs: boolean;
  /** Name by which other threads find the channel; empty: they do not */
  sharedAs: string;
}

/** `src/binding/channel_source_object.h` */
export interface NativeChannelSource {
  /** Returns the number of the group; -1 while too many are open. */
  openGroup(): number;
  /** Returns how many bytes were taken. When these are not all, the source tells once there is room. */
  write(group: number, bytes: Uint8Array): number;
  /** Returns false while there is no room; the source tells once there is. */
  endGroup(group: number): boolean;
  /** As `endGroup`. */
  resetGroup(group: number, errorCode: number): boolean;
  /** Returns for how many milliseconds clients of an address may not join; 0: they may. */
  heldDownMs(client: string): number;
  status(): ChannelSourceStatus;
  /** Withdraws the channel. */
  close(): void;
}

export interface NativeWatchOptions {
  joins: boolean;
  sources: string[];
  /** Empty: the one that leads to the source */
  interface: string;
}

/** `src/binding/return_socket_object.h` */
export interface NativeReturnSocket {
  send(bytes: Uint8Array, to: NativeAddress, size: number): boolean;
  close(): void;
}

/** `src/binding/grant_sealer_object.h` */
export interface NativeGrantSealer {
  seal(grant: Uint8Array): Buffer | undefined;
  close(): void;
}

/** Another machine, as {@link NativeMachineLink} wants it */
interface NativeMachine extends NativeAddress {
  serverId: Uint8Array;
  opens: boolean;
  missing: boolean;
  resetScope: string;
}

/** `src/binding/machine_link_object.h` */
export interface NativeMachineLink {
  address(): SocketAddress;
  setMachines(machines: readonly NativeMachine[]): void;
  setSecrets(secrets: readonly ServerSecret[]): void;
  counts(): [sent: number, dropped: number, received: number, refused: number];
  lostMachines(): number;
  close(): void;
}

/** `src/binding/shared_counts_object.h` */
export interface NativeSharedCounts {
  /** `names`: one in each line. Returns the place of the first that has as many as there may be, or -1 when all were taken. */
  take(names: string, most: Float64Array): number;
  give(names: string): void;
  takeTurn(name: string, perSecond: number): boolean;
}

/** `src/binding/worker_group_object.h` */
export interface NativeWorkerGroup {
  number(): number;
  addresses(): SocketAddress[];
  steered(): boolean;
  counts(): [passedOn: number, taken: number, lost: number][];
  inheritance(): InheritedGroup;
  passTo(link: number): void;
  follow(link: number): void;
  read(): void;
  close(): void;
}

interface Addon {
  /** Throws with `code` set to the system's error name. */
  MachineLink: new (
    group: number,
    listen: NativeAddress,
    serverId: Required<ServerId>,
    secrets: readonly ServerSecret[],
    sharesFirst: boolean,
  ) => NativeMachineLink;
  SharedCounts: new (name: string) => NativeSharedCounts;
  /** Throws with `code` and `address`, as `Endpoint.bind`. */
  WorkerGroup: new (
    workers: number,
    addresses: readonly NativeAddress[],
    idLength: number,
    steers: boolean,
    inherited: Pick<InheritedGroup, 'descriptors' | 'key'> | undefined,
    waits: boolean,
    sharesPort: boolean,
  ) => NativeWorkerGroup;
  /** Throws with `code` set to the system's error name. */
  createDatagramPair(): [number, number];
  /** Throws with `code` set to the system's error name. */
  ReturnSocket: new (from: NativeAddress, transparent: boolean) => NativeReturnSocket;
  /** Throws with `code` set to the system's error name. */
  /** Returns as `heldDownMs` of the source with this name in any thread; -1 when there is none. */
  sharedChannelHeldDownMs(name: string, client: string): number;
  ChannelSource: new (options: NativeChannelSourceOptions, onRoom: () => void) => NativeChannelSource;
  /** `src/direct_return/grant_sealer.h` */
  GrantSealer: new (key: Uint8Array, associated: Uint8Array) => NativeGrantSealer;
  LinkRelay: new (
    listen: NativeAddress,
    target: NativeAddress,
    there: NativeLinkOptions,
    back: NativeLinkOptions,
    seed: number,
  ) => NativeLinkRelay;
  /** `src/io/tcp_socket.h` */
  limitUnsent(descriptor: number, bytes: number): boolean;
  isGone(descriptor: number): boolean;
  /** Throws with `code` set to the system's error name. `src/io/tcp_listener.h` */
  openTcpListener(local: NativeAddress, shared: boolean): { descriptor: number; port: number };
  duplicateDescriptor(descriptor: number): number;
  returnFreedMemory(): void;
  Endpoint: new (options: NativeEndpointOptions, onEvents: (events: NativeEvent[]) => void) => NativeEndpoint;
  /** Encodes the fields of a response; undefined when one is invalid or all are too long. `src/http3/encoded_head.h` */
  encodeHead(fields: FlatFields): Buffer | undefined;
  readCached(descriptor: number, into: Uint8Array, position: number): number;
  /** `src/io/service_manager.h` */
  notifyServiceManager(socketName: string, message: string): string | undefined;
  passToServiceManager(socketName: string, message: string, descriptor: number, waitMs: number): string | undefined;
  awaitServiceManager(socketName: string, waitMs: number): string | undefined;
  /** `src/io/bound_socket.h` */
  boundSocket(descriptor: number, ofTcp: boolean): (NativeAddress & { shared: boolean }) | undefined;
  /** Throws with `code` set to the system's error name. */
  openBoundUdp(local: NativeAddress): { descriptor: number; port: number };
}

let loaded: Addon | undefined;

/**
 * Loads the addon on first use.
 * @throws QuicError `ADDON_NOT_BUILT` with the command that builds it.
 */
export function addon(): Addon {
  if (loaded) return loaded;
  const require = createRequire(import.meta.url);
  const path = new URL('../build/Release/sheaf.node', import.meta.url).pathname;
  try {
    loaded = require(path) as Addon;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new QuicError(
      'ADDON_NOT_BUILT',
      `the transport's native part could not be loaded from ${path}: ${cause}. ` +
        'Fix: run `npm run setup` in the repository, or `npm rebuild @sheaf/native` where it is installed ' +
        '(npm 12: `npm install-scripts approve @sheaf/native` first).',
    );
  }
  return loaded;
}

/**
 * Loads the native part of this package, which is otherwise loaded on first use.
 * @throws QuicError `ADDON_NOT_BUILT` with the command that builds it.
 */
export function loadAddon(): void {
  addon();
}
