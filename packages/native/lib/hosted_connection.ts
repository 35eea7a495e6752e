import { EventEmitter } from 'node:events';
import type { NativeEndpoint, NativeEvent } from './addon.js';
import type { OnFault } from './contain.js';
import { ConnectionPaths } from './connection_paths.js';
import type { Http3ServerRequest } from './server_request.js';
import type { Http3ServerResponse } from './server_response.js';
import type { ConnectionStatus, PathEvent, PathUse, ServedConnection, SocketAddress } from './types.js';
import { WebTransportConnection } from './webtransport/connection.js';

const H3_NO_ERROR = 0x100;

/** A request with its response, until both directions are done. */
export interface Exchange {
  request: Http3ServerRequest;
  response: Http3ServerResponse;
}

/** A connection that brings requests, with the exchanges in flight. */
export abstract class HostedConnection<Events extends Record<keyof Events, unknown[]>>
  extends EventEmitter<Events>
  implements ServedConnection
{
  readonly exchanges = new Map<number, Exchange>();
  readonly webtransport: WebTransportConnection;
  readonly paths: ConnectionPaths;
  abstract readonly id: string;
  abstract readonly alpn: string;
  abstract readonly remoteAddress: SocketAddress;

  constructor(
    protected readonly endpoint: NativeEndpoint,
    readonly handle: number,
    onPath: (event: PathEvent) => void,
    onFault: OnFault,
  ) {
    super();
    this.webtransport = new WebTransportConnection(endpoint, handle, onFault);
    this.paths = new ConnectionPaths(endpoint, handle, onPath);
  }

  /** Handles an event about several servers on one connection. */
  abstract onBackendEvent(event: NativeEvent): void;
  abstract onClosed(error: Error | undefined): void;

  updateKeys(): boolean {
    return this.endpoint.updateKeys(this.handle);
  }
  permitCancellations(): void {
    this.endpoint.permitCancellations(this.handle);
  }
  status(): ConnectionStatus {
    return this.endpoint.connectionStatus(this.handle) as ConnectionStatus;
  }
  close(code = H3_NO_ERROR, reason = ''): void {
    this.endpoint.closeConnection(this.handle, code, reason);
  }
  abandonPath(id: number, code?: number): void {
    this.paths.abandonPath(id, code);
  }
  setPathStatus(id: number, status: PathUse): void {
    this.paths.setPathStatus(id, status);
  }
  setPathWeight(id: number, weight: number): void {
    this.paths.setPathWeight(id, weight);
  }
  pinStream(streamId: number, path: number): void {
    this.paths.pinStream(streamId, path);
  }
}
