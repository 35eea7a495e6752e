import type { LinkRelay, LinkRelayOptions } from './link_relay.js';
import type {
  ChannelSource,
  ChannelSourceOptions,
  JoinableChannel,
  WatchedChannel,
  WatchOptions,
} from './channel_types.js';
import type { RequestHeaders } from './header_types.js';
import type { Http3Client, Http3Server, ServerRequest, ServerResponse } from './http3_types.js';
import type { ClientOptions, ServerOptions } from './transport_options.js';
import type { OpenedTunnel, TunnelOptions } from './tunnel_types.js';
import type { RelayedSession, WebTransportRequest } from './webtransport_types.js';

export type { SocketAddress } from './address.js';
export type * from './channel_types.js';
export type * from './connection_types.js';
export type * from './header_types.js';
export type * from './http3_types.js';
export type { StreamDependency, StreamPriority } from './stream_priority.js';
export type * from './transport_options.js';
export type * from './tunnel_types.js';
export type * from './webtransport_types.js';

/** Functions of this package that other packages call, for those that load it on demand or replace it in tests. */
export interface NativeModule {
  /** Loads the native part of the package. Throws `QuicError` when it is not built or does not load. */
  loadAddon(): void;
  /** Makes a server, which binds no port before `listen()`. */
  createHttp3Server(options: ServerOptions): Http3Server;
  /** Connects to a server. Rejects with `QuicError` when the handshake fails. */
  connectHttp3(options: ClientOptions): Promise<Http3Client>;
  /** Makes this process the source of a multicast channel. Throws with the system's `code`, such as `EADDRNOTAVAIL`. */
  openChannelSource(options: ChannelSourceOptions): ChannelSource;
  /** Returns a channel whose source is in another thread of this process, now or later. */
  sharedChannel(name: string): JoinableChannel;
  /** Joins a channel. Rejects with `QuicError` when the server refuses it. */
  watchChannel(client: Http3Client, options: WatchOptions): Promise<WatchedChannel>;
  /**
   * Answers a request for UDP proxying (RFC 9298) with 200, and connects it to the target natively. Returns undefined when the
   * client has left or its request is complete. Throws with the system's `code`, such as `ENETUNREACH`; the request has no
   * response then.
   */
  openTunnel(request: ServerRequest, response: ServerResponse, options: TunnelOptions): OpenedTunnel | undefined;
  /** Makes a UDP relay that behaves like a network link. */
  createLinkRelay(options: LinkRelayOptions): LinkRelay;
  /**
   * Opens a session at another server and relays to it. Rejects with `QuicError` when that server refuses the session; then
   * `request` is still to be rejected.
   */
  relayWebTransport(
    request: WebTransportRequest,
    client: Http3Client,
    headers: RequestHeaders,
  ): Promise<RelayedSession>;
}
