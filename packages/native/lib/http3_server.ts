import { EventEmitter } from 'node:events';
import { AcceptedConnection } from './accepted_connection.js';
import { addon, EventKind, type FlatFields, type NativeEndpoint, type NativeEvent } from './addon.js';
import { CarriedTunnels } from './carried_tunnels.js';
import { closedError, closedLabel, type Closed } from './connection_closed.js';
import { contain, throwLater } from './contain.js';
import { isBackendEvent } from './connection_backends.js';
import { isPathEvent } from './connection_paths.js';
import { serverEndpointOptions } from './endpoint_options.js';
import { checkSecrets, tokenSecrets } from './server_secrets.js';
import { importSnapshot, TakenOverConnection } from './imported_connection.js';
import { Liveness } from './liveness.js';
import { onReturnedBodyEvent } from './returned_body.js';
import { Http3ServerRequest } from './server_request.js';
import { Http3ServerResponse } from './server_response.js';
import { tunnelOver, tunnelTotals } from './tunnel.js';
import type {
  CarriedStream,
  CertificatePair,
  ConnectionStatus,
  Http3Server,
  Http3ServerEvents,
  ImportedConnection,
  OpenedTunnel,
  ServerOptions,
  ServerSecret,
  SocketAddress,
  TransportCounters,
  TunnelOptions,
  TunnelTotals,
} from './types.js';
import { isSessionEvent } from './webtransport/connection.js';
import { isSessionRequest, NativeWebTransportRequest } from './webtransport/request.js';

type Hosted = AcceptedConnection | TakenOverConnection;

class Server extends EventEmitter<Http3ServerEvents> implements Http3Server {
  private readonly endpoint: NativeEndpoint;
  private readonly carried: CarriedTunnels;
  private readonly accepted = new Map<number, Hosted>();
  private readonly closedBy = new Map<string, number>();
  /** Requests of this turn that nobody has heard of */
  private begun: [Http3ServerRequest, Http3ServerResponse][] = [];
  private idle: (() => void) | undefined;

  constructor(options: ServerOptions) {
    super();
    this.endpoint = new (addon().Endpoint)(serverEndpointOptions(options), (events) => this.onEvents(events));
    this.carried = new CarriedTunnels(this.endpoint);
  }

  // `bind` throws for an address that is taken; `async` turns that into a rejection.
  // eslint-disable-next-line @typescript-eslint/require-await
  async listen(): Promise<SocketAddress> {
    return this.endpoint.bind();
  }
  updateCertificate(pair: CertificatePair): void {
    this.endpoint.setCertificate(pair.certificate, pair.privateKey);
  }
  updateSecrets(secrets: readonly ServerSecret[]): void {
    this.endpoint.setSecrets(checkSecrets(secrets), secrets);
  }
  updateResetSecret(resetSecret: Uint8Array): void {
    this.endpoint.setSecrets(tokenSecrets({ resetSecret }), []);
  }
  connections(): ConnectionStatus[] {
    return this.endpoint.connections().map((handle) => this.endpoint.connectionStatus(handle) as ConnectionStatus);
  }
  importConnection(snapshot: Uint8Array): ImportedConnection {
    const handle = importSnapshot(this.endpoint, snapshot);
    const { id } = this.endpoint.connectionStatus(handle) as ConnectionStatus;
    const connection = new TakenOverConnection(this.endpoint, handle, id, this.onFault);
    this.accepted.set(handle, connection);
    return connection;
  }
  counters(): TransportCounters {
    const counters = this.endpoint.counters() as Omit<TransportCounters, 'connectionsClosed'>;
    return { ...counters, connectionsClosed: Object.fromEntries(this.closedBy) };
  }
  tunnels(): TunnelTotals {
    return tunnelTotals(this.endpoint);
  }
  carryTunnel(stream: CarriedStream, options: TunnelOptions): OpenedTunnel | undefined {
    return this.carried.carry(stream, options);
  }

  async close(drainMs = 0): Promise<void> {
    this.endpoint.shutDown();
    if (drainMs > 0 && this.busy()) await this.drained(drainMs);
    // Ends the wait of an earlier call.
    else this.idle?.();
    for (const connection of this.accepted.values()) connection.close();
    this.endpoint.close();
  }

  /**
   * Resolves once nothing is open, or after `drainMs`. Connections whose peers have vanished are closed instead of
   * waited for.
   */
  private drained(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      const liveness = new Liveness(this.endpoint);
      const probe = setInterval(() => {
        for (const connection of this.busyConnections()) if (!liveness.check(connection.handle)) connection.close();
      }, 1_000);
      const end = (): void => {
        clearInterval(probe);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(end, drainMs);
      this.idle = end;
    });
  }

  private busy(): boolean {
    return this.carried.open > 0 || this.busyConnections().length > 0;
  }
  private busyConnections(): Hosted[] {
    return [...this.accepted.values()].filter(
      ({ exchanges, webtransport }) => exchanges.size > 0 || webtransport.size > 0,
    );
  }

  private onEvents(events: NativeEvent[]): void {
    for (const event of events) contain(() => this.onEvent(event), this.onFault);
    this.tellRequests();
    if (this.idle && !this.busy()) this.idle();
  }

  private readonly onFault = (fault: unknown): void => {
    const error = fault instanceof Error ? fault : new Error(String(fault));
    if (this.listenerCount('error') === 0) throwLater(error);
    else contain(() => this.emit('error', error), throwLater);
  };

  private onEvent(event: NativeEvent): void {
    const [kind, handle] = event;
    if (kind === EventKind.established) return this.onEstablished(event);
    if (kind === EventKind.returnRoom || kind === EventKind.returnOver)
      return onReturnedBodyEvent(this.endpoint, event);
    if (this.carried.onEvent(event)) return;
    const connection = this.accepted.get(handle);
    if (kind === EventKind.connectionClosed) {
      return this.onClosed(handle, { cause: event[2] as number, code: event[3] as number, reason: event[4] as string });
    }
    if (!connection) return;
    if (kind === EventKind.request) {
      return this.onRequest(connection, event[2] as number, event[3] as FlatFields, event[4] as boolean);
    }
    if (isPathEvent(kind)) return connection.paths.onEvent(event);
    if (isBackendEvent(kind)) return connection.onBackendEvent(event);
    if (isSessionEvent(kind)) return connection.webtransport.onEvent(event);
    this.onStreamEvent(connection, event);
  }

  private onEstablished(event: NativeEvent): void {
    const [, handle, alpn, id, address, port, family] = event as [
      EventKind,
      number,
      string,
      string,
      string,
      number,
      'IPv4' | 'IPv6',
    ];
    const connection = new AcceptedConnection(
      this.endpoint,
      handle,
      id,
      alpn,
      { address, port, family },
      (of, path) => this.emit('path', of, path),
      this.onFault,
    );
    this.accepted.set(handle, connection);
    this.emit('connection', connection);
  }

  private onClosed(handle: number, closed: Closed): void {
    const label = closedLabel(closed);
    this.closedBy.set(label, (this.closedBy.get(label) ?? 0) + 1);
    const connection = this.accepted.get(handle);
    if (!connection) return;
    this.accepted.delete(handle);
    for (const { request, response } of connection.exchanges.values()) {
      request.onReset(closed.code);
      response.onConnectionClosed();
    }
    connection.webtransport.onConnectionClosed(closed);
    connection.onClosed(closedError(closed));
  }

  private onRequest(connection: Hosted, stream: number, fields: FlatFields, early: boolean): void {
    const location = { endpoint: this.endpoint, connection: connection.handle, stream };
    if (isSessionRequest(fields)) {
      const request = new NativeWebTransportRequest(
        location,
        fields,
        connection.remoteAddress,
        connection.webtransport,
      );
      if (!this.emit('webtransport', request)) request.reject(404);
      return;
    }
    const version = connection.alpn === 'h3' ? '3' : '0.9';
    const request = new Http3ServerRequest(location, fields, connection, connection.remoteAddress, version, early);
    const response = new Http3ServerResponse(location);
    // Without a listener an aborted exchange would end the process.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    connection.exchanges.set(stream, { request, response });
    this.begun.push([request, response]);
  }

  /** Tells of requests behind all events of a turn: it is known then which of them have no body. */
  private tellRequests(): void {
    if (this.begun.length === 0) return;
    const { begun } = this;
    this.begun = [];
    for (const [request, response] of begun)
      contain(() => {
        if (!this.emit('request', request, response)) response.writeHead(404).end();
      }, this.onFault);
  }

  private onStreamEvent(connection: Hosted, event: NativeEvent): void {
    const stream = event[2] as number;
    const exchange = connection.exchanges.get(stream);
    if (!exchange) return;
    switch (event[0]) {
      case EventKind.bodyReadable:
        return exchange.request.onReadable();
      case EventKind.trailers:
        return exchange.request.onTrailers(event[3] as FlatFields);
      case EventKind.messageFinished:
        return exchange.request.onFinished();
      case EventKind.bodyWritable:
        return exchange.response.onWritable();
      case EventKind.streamReset:
        return exchange.request.onReset(event[3] as number);
      case EventKind.writingStopped:
        return exchange.response.onStopped(event[3] as number);
      case EventKind.returnLost:
        return exchange.response.onReturnLost(event[3] as number, event[4] as number, event[5] as number);
      case EventKind.tunnelOver:
        exchange.response.emit('tunnelOver', tunnelOver(event[3] as number, event[4] as number, event[5] as number[]));
        return;
      case EventKind.streamClosed:
        connection.exchanges.delete(stream);
        exchange.response.onStreamClosed();
        return;
      default:
        return;
    }
  }
}

/** A server on one UDP port. Nothing is bound before `listen()`. @throws QuicError for a bad certificate. */
export function createHttp3Server(options: ServerOptions): Http3Server {
  return new Server(options);
}
