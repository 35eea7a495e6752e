import type {
  CertificatePair,
  Http3Server,
  NativeModule,
  ServedConnection,
  ServerRequest,
  ServerId,
  ServerResponse,
  ServerSecret,
} from '@sheaf/native';
import type { ListenAddresses } from '../values/scalars.js';
import type { ConnectionIdsOptions } from '../schema/connection_ids.js';
import type { FrontLimits, FrontOptions } from '../schema/front.js';
import { congestionControl } from '../values/transport_names.js';
import { fromQuicRequest } from '../http/quic_request.js';
import type { RequestHandler } from '../http/request_handler.js';
import type { TrustedProxies } from '../http/trusted_proxies.js';
import type { SharedUdp } from '../values/shared_udp.js';

/** Answers a CONNECT. */
export type ConnectHandler = (request: ServerRequest, response: ServerResponse) => void;

/** By `:protocol`; undefined: CONNECT without one (RFC 9114 §4.4) */
export type ConnectHandlers = Pick<ReadonlyMap<string | undefined, ConnectHandler>, 'get'>;

export interface QuicListenerOptions {
  module: NativeModule;
  address: ListenAddresses;
  alpn: readonly string[];
  congestion: FrontOptions['congestion'];
  multipath: boolean;
  /** Offers backends to clients, or accepts handed over connections. */
  multiEnd: boolean;
  /** Lets backends send on paths of their own to clients that permit it. */
  returnPaths: boolean;
  /** Lets other sockets of this user share the port (SO_REUSEPORT). */
  sharesPort: boolean;
  pathScheduler: FrontOptions['path_scheduler'];
  streamScheduler: FrontOptions['stream_scheduler'];
  certificate: CertificatePair;
  /** Secrets that outlive the process. Default: `resetSecret`, and random keys of tickets. */
  secrets?: readonly ServerSecret[] | undefined;
  /** Secrets of tickets alone. Default: `secrets` */
  ticketSecrets?: readonly ServerSecret[] | undefined;
  /** Sockets of one of several threads. Default: its own */
  shared?: SharedUdp | undefined;
  resetSecret: Uint8Array;
  /** As of `ServerOptions` */
  resetScope: string;
  /** What balancers read in connection ids. Default: the ids are random. */
  connectionIds?: ConnectionIdsOptions | undefined;
  handler: RequestHandler;
  /** Answer CONNECT. */
  connects?: ConnectHandlers | undefined;
  /** Returns headers for every response on this connection. */
  headersFor?: (connection: ServedConnection) => Readonly<Record<string, string>>;
  limits: FrontLimits;
  /** Bytes that a client may send on a stream before any of them is read. Default: that of the transport. */
  initialStreamWindow?: number | undefined;
  /** Finds the client behind trusted proxies. */
  proxies?: TrustedProxies | undefined;
  /** Directory for qlog files */
  qlog?: string;
  /** File for TLS secrets (SSLKEYLOGFILE) */
  keyLog?: string;
  onError(error: Error): void;
}

/** Creates the native server for HTTP/3, WebTransport and HTTP/0.9 on one UDP port. */
export function createQuicListener(options: QuicListenerOptions): Http3Server {
  const { module, address, certificate, limits } = options;
  const server = module.createHttp3Server({
    address: address.address,
    furtherAddresses: address.further ?? [],
    port: address.port,
    certificate,
    secrets: options.secrets ?? [],
    ticketSecrets: options.ticketSecrets ?? options.secrets ?? [],
    resetSecret: options.resetSecret,
    resetScope: options.resetScope,
    ...serverIdOf(options.connectionIds),
    alpn: [...options.alpn],
    congestionControl: congestionControl(options.congestion),
    multipath: options.multipath,
    multiEnd: options.multiEnd,
    returnPaths: options.returnPaths,
    sharesPort: options.sharesPort,
    ...(options.shared && { worker: options.shared }),
    offersResponses: true,
    pathScheduler: options.pathScheduler,
    streamScheduler: options.streamScheduler,
    webtransport: options.alpn.includes('h3'),
    maxConnections: limits.connections,
    maxConnectionsPerNetwork: limits.connections_per_network,
    connectionMemory: limits.connection_memory,
    memory: limits.memory,
    ...(options.initialStreamWindow === undefined ? {} : { initialStreamWindow: options.initialStreamWindow }),
    maxConnectionWindow: Math.max(64 * 1024, limits.connection_memory / 2),
    maxBidirectionalStreams: limits.streams,
    maxUnidirectionalStreams: limits.streams,
    handshakesPerSecond: limits.handshakes_per_second,
    maxHalfOpenHandshakes: limits.half_open_handshakes,
    retry: limits.retry,
    maxHeaderBytes: limits.header_size,
    idleTimeoutMs: limits.idle,
    ...(options.qlog === undefined ? {} : { qlogDirectory: options.qlog }),
    ...(options.keyLog === undefined ? {} : { keyLogFile: options.keyLog }),
  });
  server.on('request', (request, response) => {
    const connect = request.method === 'CONNECT' ? options.connects?.get(request.protocol) : undefined;
    if (connect) return connect(request, response);
    const received = fromQuicRequest(request, response);
    const converted = options.proxies?.resolve(received) ?? received;
    // No target changes a chunk after it was written.
    response.keepsChunks = true;
    for (const [name, value] of Object.entries(options.headersFor?.(request.connection) ?? {}))
      response.setHeader(name, value);
    if (converted.priority) response.setPriority(converted.priority);
    options.handler.begin(converted, response);
  });
  server.on('error', (error) => options.onError(error));
  return server;
}

/** Returns the option by which a server puts its id into connection ids. */
export function serverIdOf(options: ConnectionIdsOptions | undefined): { serverId?: ServerId } {
  if (!options) return {};
  return { serverId: { id: Buffer.from(options.server_id, 'hex'), encrypted: options.encrypted } };
}
