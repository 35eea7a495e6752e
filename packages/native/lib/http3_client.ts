import { EventEmitter } from 'node:events';
import {
  addon,
  EventKind,
  refusalText,
  type FlatFields,
  type NativeAddress,
  type NativeConnectOptions,
  type NativeEndpoint,
  type NativeEvent,
} from './addon.js';
import { closedError, type Closed } from './connection_closed.js';
import { ConnectionBackends, isBackendEvent, UNKNOWN_BACKEND } from './connection_backends.js';
import { ConnectionPaths, isPathEvent } from './connection_paths.js';
import { backendRefused } from './backend_refused.js';
import { contain, throwLater } from './contain.js';
import { clientEndpointOptions } from './endpoint_options.js';
import { firstConnected, remotesOf, type Attempt } from './first_connected.js';
import { appendFields, pseudoField, toHeaderMap } from './headers.js';
import { H3_NO_ERROR, H3_REQUEST_CANCELLED, IncomingBody, streamError, type StreamLocation } from './http3_body.js';
import { lendable } from './lent_bytes.js';
import type { BackendEvents, OpenBackendOptions } from './multi_end_types.js';
import { QuicError } from './quic_error.js';
import type {
  ClientOptions,
  ClientRequestOptions,
  ConnectionStatus,
  HeaderMap,
  Http3Client,
  Http3ClientEvents,
  OpenPathOptions,
  PathUse,
  ReceivedResponse,
  RequestHeaders,
  WebTransportSession,
  WholeResponse,
  WholeResponses,
} from './types.js';
import { WebTransportConnection, isSessionEvent } from './webtransport/connection.js';
import type { NativeSession } from './webtransport/native_session.js';
import type { SessionClient } from './webtransport/session_client.js';
import { isTunnelEvent, onTunnelEvent, openTunnelPort, type PortOptions } from './tunnel_port.js';
import { tunnelTotals } from './tunnel.js';
import type { TunnelPort, TunnelPortOptions, TunnelRelayOptions, TunnelTotals } from './tunnel_types.js';
import { isChannelEvent, onChannelEvent, onChannelsLost } from './watched_channel.js';
import { WebSession } from './webtransport/web_session.js';

/** Refusals of requests that another connection would take. */
const goingAway = new Set([-3, -9]);
/** Methods that change nothing, however often a request arrives (RFC 9110 §9.2.1). */
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);
const TOO_EARLY = 425;

class Response extends IncomingBody implements ReceivedResponse {
  readonly status: number;
  readonly headers: HeaderMap;

  constructor(location: StreamLocation, fields: FlatFields) {
    super(location);
    // A reset may come in the same turn as the head, before anybody can listen. Reading still reports it.
    this.on('error', () => undefined);
    this.status = Number(pseudoField(fields, ':status') || '200');
    this.headers = toHeaderMap(fields);
  }
}

/** A response whose body is gathered */
interface Gathered extends Omit<WholeResponse, 'whole'> {
  readonly parts: Buffer[];
  bytes: number;
}

/** A request from its start to the end of its stream. */
interface Exchange {
  resolve: (response: ReceivedResponse | WholeResponse) => void;
  reject: (error: Error) => void;
  onInformational?: ClientRequestOptions['onInformational'];
  response?: Response;
  writable?: () => void;
  stopped: boolean;
  whole?: WholeResponses | undefined;
  gathered?: Gathered;
}

class Client
  extends EventEmitter<{ [K in keyof Http3ClientEvents]: Http3ClientEvents[K] }>
  implements SessionClient, Attempt
{
  alpn = '';
  private readonly endpoint: NativeEndpoint;
  private handle = -1;
  private readonly exchanges = new Map<number, Exchange>();
  private webtransport: WebTransportConnection | undefined;
  private paths: ConnectionPaths | undefined;
  private backends: ConnectionBackends | undefined;
  private closed: { error: Error | undefined } | undefined;
  private lastStatus: ConnectionStatus | undefined;
  private started: { resolve: () => void; reject: (error: Error) => void } | undefined;
  private handshake: Promise<void> = Promise.resolve();
  private streamsAvailable: (() => void)[] = [];

  constructor(
    private readonly options: ClientOptions,
    private readonly remote: NativeAddress,
  ) {
    super();
    const local = options.localAddress ?? (remote.address.includes(':') ? '::' : '0.0.0.0');
    this.endpoint = new (addon().Endpoint)(
      clientEndpointOptions(options, { address: local, port: options.localPort ?? 0 }),
      (events) => {
        for (const event of events) contain(() => this.onEvent(event), throwLater);
      },
    );
  }

  async connect(): Promise<void> {
    this.endpoint.bind();
    const { connectTimeoutMs } = this.options;
    const timer =
      connectTimeoutMs === undefined
        ? undefined
        : setTimeout(() => this.abandon(`no response within ${connectTimeoutMs / 1_000} s`), connectTimeoutMs);
    this.handshake = new Promise<void>((resolve, reject) => {
      this.started = { resolve, reject };
      this.handle = this.start({
        remoteAddress: this.remote.address,
        remotePort: this.remote.port,
        serverName: this.options.serverName ?? this.options.host,
        insecure: this.options.insecure ?? false,
        certificateAuthority: this.options.certificateAuthority ?? '',
        certificateHashes: this.options.certificateHashes ?? [],
        publicKeyHashes: this.options.publicKeyHashes ?? [],
        session: this.options.session,
      });
      this.webtransport = new WebTransportConnection(this.endpoint, this.handle, throwLater);
      this.backends = new ConnectionBackends(this.endpoint, this.handle, this as EventEmitter<BackendEvents>);
      this.paths = new ConnectionPaths(this.endpoint, this.handle, (event) => {
        this.emit('path', event);
        this.backends!.onPathEvent(event);
      });
    });
    this.handshake = this.handshake.finally(() => clearTimeout(timer));
    // The attempt could not begin; `handshake` rejects with the reason.
    if (this.handle < 0) return this.handshake;
    // The protocol is known already when the session allows 0-RTT.
    this.alpn = this.options.earlyRequests ? this.status().alpn : '';
    if (this.alpn === '') return this.handshake;
    // Requests and `close` report the failure.
    this.handshake.catch(() => undefined);
  }

  abandon(reason: string): void {
    this.started?.reject(new QuicError('CONNECT_TIMEOUT', reason));
    this.started = undefined;
    this.endpoint.closeConnection(this.handle, H3_NO_ERROR, '');
  }

  private start(options: NativeConnectOptions): number {
    try {
      return this.endpoint.connect(options);
    } catch (error) {
      // An open socket would keep the process alive.
      this.endpoint.close();
      throw error;
    }
  }

  async request(options: ClientRequestOptions): Promise<ReceivedResponse> {
    const early = this.started !== undefined;
    if (early && !mayBeReplayed(options)) await this.handshake;
    const response = await this.exchange(options);
    if (!early || response.status !== TOO_EARLY) return response;
    // RFC 8470 §5.2: sends the request again after the handshake, where it cannot be a replay.
    response.destroy();
    await this.handshake;
    return this.exchange(options);
  }

  requestWhole(options: ClientRequestOptions, which: WholeResponses): Promise<ReceivedResponse | WholeResponse> {
    if (this.started === undefined) return this.exchange(options, which);
    return this.handshake.then(() => this.exchange(options, which));
  }

  ask(
    options: ClientRequestOptions,
    which: WholeResponses,
    answered: (answer: ReceivedResponse | WholeResponse | Error) => void,
  ): boolean {
    if (options.body !== undefined || this.started !== undefined || this.closed) return false;
    const stream = this.submit(options, this.requestFields(options));
    if (stream === undefined) return false;
    const { onInformational, signal } = options;
    let settled = false;
    const settle = (answer: ReceivedResponse | WholeResponse | Error): void => {
      if (settled) return;
      settled = true;
      answered(answer);
    };
    this.exchanges.set(stream, { resolve: settle, reject: settle, stopped: false, onInformational, whole: which });
    signal?.addEventListener('abort', () => this.cancel(stream), { once: true });
    if (signal?.aborted) this.cancel(stream);
    return true;
  }

  private exchange(options: ClientRequestOptions): Promise<ReceivedResponse>;
  private exchange(options: ClientRequestOptions, whole: WholeResponses): Promise<ReceivedResponse | WholeResponse>;
  private async exchange(
    options: ClientRequestOptions,
    whole?: WholeResponses,
  ): Promise<ReceivedResponse | WholeResponse> {
    const fields = this.requestFields(options);
    const stream = this.submit(options, fields) ?? (await this.submitLater(options, fields));
    options.signal?.addEventListener('abort', () => this.cancel(stream), { once: true });
    const response = new Promise<ReceivedResponse | WholeResponse>((resolve, reject) => {
      this.exchanges.set(stream, { resolve, reject, stopped: false, onInformational: options.onInformational, whole });
    });
    if (options.body !== undefined) {
      this.sendBody(stream, options.body, options.trailers).catch((error: unknown) => {
        this.endpoint.resetStream(this.handle, stream, H3_REQUEST_CANCELLED);
        this.exchanges.get(stream)?.reject(error instanceof Error ? error : new Error(String(error)));
      });
    }
    if (options.signal?.aborted) this.cancel(stream);
    return response;
  }

  /**
   * @throws QuicError `BACKEND_REFUSED` when the path belonged to a backend that is gone, which no event has told yet;
   *   otherwise as `pinStream`
   */
  private pin(stream: number, path: number, ofBackend: boolean): void {
    try {
      this.paths!.pinStream(stream, path);
    } catch (error) {
      this.endpoint.resetStream(this.handle, stream, H3_REQUEST_CANCELLED);
      this.endpoint.stopReading(this.handle, stream, H3_REQUEST_CANCELLED);
      throw ofBackend ? backendRefused(UNKNOWN_BACKEND) : error;
    }
  }

  /** RFC 9114 §4.1.1: neither the rest of the request nor the response is wanted any more. */
  private cancel(stream: number): void {
    const exchange = this.exchanges.get(stream);
    if (!exchange) return;
    const error = new QuicError('REQUEST_CANCELLED', 'the request was abandoned', H3_REQUEST_CANCELLED);
    exchange.stopped = true;
    exchange.writable?.();
    this.endpoint.resetStream(this.handle, stream, H3_REQUEST_CANCELLED);
    if (exchange.response) exchange.response.destroy(error);
    else {
      this.endpoint.stopReading(this.handle, stream, H3_REQUEST_CANCELLED);
      exchange.reject(error);
    }
  }

  async openWebTransport(path: string, headers?: RequestHeaders, authority?: string): Promise<WebTransportSession> {
    return new WebSession(await this.openNativeSession(path, headers, authority));
  }

  async openNativeSession(
    path: string,
    headers: RequestHeaders = {},
    authority = this.authority(),
  ): Promise<NativeSession> {
    this.assertOpen();
    // The session set adds `:method` and `:protocol` of the extended CONNECT (RFC 9220).
    const fields: FlatFields = [':authority', authority, ':path', path];
    appendFields(fields, headers);
    return this.webtransport!.request(fields);
  }

  supportsWebTransport(): Promise<boolean> {
    return this.webtransport!.supported();
  }

  async openPath({ local, localPort = 0, remote = this.remote }: OpenPathOptions): Promise<number> {
    this.assertOpen();
    return this.paths!.open({ address: local, port: localPort }, remote);
  }
  migrate(local: NativeAddress): boolean {
    this.assertOpen();
    return this.endpoint.migrate(this.handle, local);
  }
  abandonPath(id: number, code?: number): void {
    this.assertOpen();
    this.paths!.abandonPath(id, code);
  }
  setPathStatus(id: number, status: PathUse): void {
    this.assertOpen();
    this.paths!.setPathStatus(id, status);
  }
  setPathWeight(id: number, weight: number): void {
    this.assertOpen();
    this.paths!.setPathWeight(id, weight);
  }

  async openBackend(backend: number, { local, localPort = 0 }: OpenBackendOptions = {}): Promise<number> {
    this.assertOpen();
    return this.backends!.open(backend, local === undefined ? undefined : { address: local, port: localPort });
  }

  openTunnelPort({ path, ...options }: TunnelPortOptions): TunnelPort {
    return this.tunnelPort({ ...options, pathTo: () => path });
  }
  openTunnelRelay(options: TunnelRelayOptions): TunnelPort {
    return this.tunnelPort(options);
  }
  private tunnelPort(options: PortOptions): TunnelPort {
    this.assertOpen();
    const request = (each: ClientRequestOptions): Promise<ReceivedResponse> => this.request(each);
    const port = openTunnelPort({ endpoint: this.endpoint, connection: this.handle }, request, options);
    if (!port) throw new QuicError('CONNECTION_CLOSED', 'the connection is closed');
    return port;
  }

  reportTunnel(report: Uint8Array): boolean {
    return !this.closed && this.endpoint.reportTunnel(this.handle, report);
  }

  get openRequests(): number {
    return this.exchanges.size;
  }

  tunnels(): TunnelTotals {
    return tunnelTotals(this.endpoint);
  }

  updateKeys(): boolean {
    this.assertOpen();
    return this.endpoint.updateKeys(this.handle);
  }

  status(): ConnectionStatus {
    if (this.closed && this.lastStatus) return this.lastStatus;
    return this.endpoint.connectionStatus(this.handle) as ConnectionStatus;
  }

  async close(code = H3_NO_ERROR, reason = ''): Promise<void> {
    if (this.closed) return;
    this.lastStatus = this.status();
    const gone = new Promise<void>((resolve) => this.once('close', () => resolve()));
    this.endpoint.closeConnection(this.handle, code, reason);
    await gone;
    this.endpoint.close();
  }

  private authority(): string {
    const name = this.options.serverName ?? this.options.host;
    const host = name.includes(':') ? `[${name}]` : name;
    return this.options.port === 443 ? host : `${host}:${this.options.port}`;
  }

  private requestFields(options: ClientRequestOptions): FlatFields {
    const { method = 'GET', protocol, authority = this.authority() } = options;
    const fields: FlatFields = [':method', method, ':authority', authority];
    // RFC 9114 §4.4: CONNECT names its target alone.
    if (method !== 'CONNECT' || protocol !== undefined) fields.push(':scheme', 'https', ':path', options.path);
    if (protocol !== undefined) fields.push(':protocol', protocol);
    appendFields(fields, options.headers ?? {});
    return fields;
  }

  /** Submits a request. Returns undefined while there is no stream credit. */
  private submit({ body, backend, onPath }: ClientRequestOptions, fields: FlatFields): number | undefined {
    this.assertOpen();
    const path = backend === undefined ? onPath : this.backends!.pathOf(backend);
    const stream = this.endpoint.submitRequest(this.handle, fields, body !== undefined);
    if (stream >= 0) {
      // Pins the stream at once: its first byte decides which server it belongs to.
      if (path !== undefined) this.pin(stream, path, backend !== undefined);
      return stream;
    }
    if (stream === -2 || stream === -1) return undefined;
    const code = goingAway.has(stream) ? 'GOING_AWAY' : 'REQUEST_REFUSED';
    throw new QuicError(code, `request: ${refusalText(stream)}`);
  }

  /** Waits for stream credit. */
  private async submitLater(options: ClientRequestOptions, fields: FlatFields): Promise<number> {
    for (;;) {
      await new Promise<void>((resolve) => this.streamsAvailable.push(resolve));
      const stream = this.submit(options, fields);
      if (stream !== undefined) return stream;
    }
  }

  private async sendBody(
    stream: number,
    body: AsyncIterable<Uint8Array | string> | Buffer,
    trailers: ClientRequestOptions['trailers'],
  ): Promise<void> {
    if (Buffer.isBuffer(body)) {
      this.endpoint.writeBody(this.handle, stream, lendable(body), trailers === undefined);
      if (trailers) this.endRequest(stream, trailers());
      return;
    }
    for await (const chunk of body) {
      const exchange = this.exchanges.get(stream);
      if (!exchange || exchange.stopped) return;
      const bytes = lendable(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      const outcome = this.endpoint.writeBody(this.handle, stream, bytes, false);
      if (outcome < 0) throw new QuicError('WRITE_REFUSED', `request body: ${refusalText(outcome)}`);
      if (outcome === 0) await new Promise<void>((resolve) => (exchange.writable = resolve));
    }
    this.endRequest(stream, trailers?.());
  }

  private endRequest(stream: number, trailers: RequestHeaders = {}): void {
    const fields: FlatFields = [];
    appendFields(fields, trailers);
    if (fields.length === 0) {
      this.endpoint.writeBody(this.handle, stream, undefined, true);
      return;
    }
    const outcome = this.endpoint.submitTrailers(this.handle, stream, fields);
    // A server that has answered already may stop reading: that is no fault.
    if (outcome < 0 && !this.exchanges.get(stream)?.stopped)
      throw new QuicError('WRITE_REFUSED', `trailers: ${refusalText(outcome)}`);
  }

  private assertOpen(): void {
    if (this.closed) throw this.closed.error ?? new QuicError('CONNECTION_CLOSED', 'the connection is closed');
  }

  private onEvent(event: NativeEvent): void {
    const kind = event[0];
    switch (kind) {
      case EventKind.established:
        this.alpn = event[2] as string;
        this.started?.resolve();
        this.started = undefined;
        return;
      case EventKind.connectionClosed:
        return this.onClosed({ cause: event[2] as number, code: event[3] as number, reason: event[4] as string });
      case EventKind.sessionTicket:
        this.emit('session', event[2] as Buffer);
        return;
      case EventKind.settings:
        this.webtransport?.onSettings(event[2] as boolean);
        return this.wakeRequests();
      case EventKind.requestsAvailable:
        return this.wakeRequests();
      default:
        if (isPathEvent(kind)) this.paths?.onEvent(event);
        else if (isBackendEvent(kind)) this.backends?.onEvent(event);
        else if (isSessionEvent(kind)) this.webtransport?.onEvent(event);
        else if (isChannelEvent(kind)) onChannelEvent(this.endpoint, event);
        else if (isTunnelEvent(kind)) onTunnelEvent(this.endpoint, event);
        else this.onStreamEvent(event);
    }
  }

  private wakeRequests(): void {
    const waiting = this.streamsAvailable;
    this.streamsAvailable = [];
    for (const wake of waiting) wake();
  }

  private onStreamEvent(event: NativeEvent): void {
    const stream = event[2] as number;
    const exchange = this.exchanges.get(stream);
    if (!exchange) return;
    switch (event[0]) {
      case EventKind.response: {
        if (event[4] as boolean) {
          const fields = event[3] as FlatFields;
          return exchange.onInformational?.(Number(pseudoField(fields, ':status')), toHeaderMap(fields));
        }
        if (exchange.whole && hasField(event[3] as FlatFields, exchange.whole.field)) {
          const fields = event[3] as FlatFields;
          const status = Number(pseudoField(fields, ':status'));
          exchange.gathered = { status, headers: toHeaderMap(fields), parts: [], bytes: 0 };
          return;
        }
        exchange.response = new Response(
          { endpoint: this.endpoint, connection: this.handle, stream },
          event[3] as FlatFields,
        );
        return exchange.resolve(exchange.response);
      }
      case EventKind.bodyReadable:
        if (exchange.gathered) return this.gather(exchange, exchange.gathered, stream);
        return exchange.response?.onReadable();
      case EventKind.trailers:
        return exchange.response?.onTrailers(event[3] as FlatFields);
      case EventKind.messageFinished:
        if (exchange.gathered) return exchange.resolve(wholeOf(exchange.gathered));
        return exchange.response?.onFinished();
      case EventKind.bodyWritable:
        exchange.writable?.();
        delete exchange.writable;
        return;
      case EventKind.streamReset:
        return this.fail(exchange, event[3] as number);
      case EventKind.writingStopped:
        exchange.stopped = true;
        exchange.writable?.();
        return;
      case EventKind.streamClosed:
        this.exchanges.delete(stream);
        return;
      default:
        return;
    }
  }

  private gather(exchange: Exchange, gathered: Gathered, stream: number): void {
    const most = exchange.whole?.bytes ?? 0;
    for (;;) {
      const part = gathered.bytes > most ? undefined : this.endpoint.readBody(this.handle, stream);
      if (!part) break;
      gathered.bytes += part.length;
      gathered.parts.push(part);
    }
    if (gathered.bytes <= most) return;
    this.endpoint.stopReading(this.handle, stream, H3_REQUEST_CANCELLED);
    exchange.resolve(wholeOf(gathered));
  }

  private fail(exchange: Exchange, code: number): void {
    exchange.stopped = true;
    exchange.writable?.();
    if (exchange.response) exchange.response.onReset(code);
    else exchange.reject(streamError(code));
  }

  private onClosed(closed: Closed): void {
    const error = closedError(closed);
    this.closed = { error };
    const failure = error ?? new QuicError('CONNECTION_CLOSED', 'the connection was closed');
    this.started?.reject(failure);
    this.started = undefined;
    this.paths?.onConnectionClosed(failure);
    this.backends?.onConnectionClosed(failure);
    for (const exchange of this.exchanges.values()) {
      exchange.stopped = true;
      exchange.writable?.();
      if (exchange.response) exchange.response.onReset(closed.code);
      else exchange.reject(failure);
    }
    this.exchanges.clear();
    this.wakeRequests();
    this.webtransport?.onConnectionClosed(closed);
    onChannelsLost(this.endpoint);
    // Closes the socket once this batch of events is done.
    setImmediate(() => this.endpoint.close());
    this.emit('close', error);
  }
}

function hasField(fields: FlatFields, name: string): boolean {
  for (let i = 0; i + 1 < fields.length; i += 2) if (fields[i] === name) return true;
  return false;
}

const wholeOf = ({ status, headers, parts }: Gathered): WholeResponse => ({
  status,
  headers,
  whole: parts.length === 1 ? parts[0]! : Buffer.concat(parts),
});

const mayBeReplayed = ({ method = 'GET', body }: ClientRequestOptions): boolean =>
  body === undefined && safeMethods.has(method);

/** Like `connectHttp3`, for WebTransport. */
export function openSessionClient(options: ClientOptions): Promise<SessionClient> {
  return open({ ...options, webtransport: true });
}

/**
 * Connects for HTTP/3 or hq-interop requests.
 * @throws QuicError `HANDSHAKE_FAILED` with the reason in plain words
 */
export function connectHttp3(options: ClientOptions): Promise<Http3Client> {
  return open({ ...options });
}

async function open(options: ClientOptions): Promise<Client> {
  const remotes = await remotesOf(options);
  // With early requests, an attempt would count as connected before it is answered, and no other address would be
  // tried.
  const earlyRequests = options.earlyRequests === true && remotes.length === 1;
  return firstConnected(remotes, (remote) => new Client({ ...options, earlyRequests }, remote));
}
