import { EventKind, type NativeEndpoint, type NativeEvent } from './addon.js';
import type { OnFault } from './contain.js';
import { backendMessageRefused, backendRefused } from './backend_refused.js';
import type { BackendControl, BackendWithdrawal, ServerConnectionEvents } from './multi_end_types.js';
import { HostedConnection } from './hosted_connection.js';
import type { PathEvent, SocketAddress } from './types.js';

/** A connection whose handshake was made here. This server is the primary of its backends, if it has any. */
export class AcceptedConnection extends HostedConnection<ServerConnectionEvents> implements BackendControl {
  multiEnd = false;

  constructor(
    endpoint: NativeEndpoint,
    handle: number,
    readonly id: string,
    readonly alpn: string,
    readonly remoteAddress: SocketAddress,
    onPath: (connection: AcceptedConnection, event: PathEvent) => void,
    onFault: OnFault,
  ) {
    super(endpoint, handle, (event) => onPath(this, event), onFault);
  }

  handOver(backend: number, { address, port }: SocketAddress): Buffer {
    const snapshot = this.endpoint.handOverBackend(this.handle, backend, { address, port });
    if (typeof snapshot === 'number') throw backendRefused(snapshot);
    return snapshot;
  }
  offerBackend(backend: number): void {
    check(this.endpoint.offerBackend(this.handle, backend));
  }
  withdrawBackend(backend: number, how: BackendWithdrawal): void {
    check(this.endpoint.withdrawBackend(this.handle, backend, how === 'gone'));
  }
  receiveBackendMessage(backend: number, message: Uint8Array): void {
    if (!this.endpoint.receiveBackendMessage(this.handle, backend, message)) throw backendMessageRefused();
  }

  onBackendEvent(event: NativeEvent): void {
    switch (event[0]) {
      case EventKind.multiEndReady:
        this.multiEnd = true;
        this.emit('multiEndReady');
        return;
      case EventKind.backendMessage:
        this.emit('backendMessage', event[2] as number, event[3] as Buffer);
        return;
      case EventKind.backendPathAbandoned:
        this.emit('backendPathAbandoned', event[2] as number, event[4] as number);
        return;
      default:
        return;
    }
  }
  onClosed(error: Error | undefined): void {
    this.emit('close', error);
  }
}

function check(outcome: number): void {
  if (outcome < 0) throw backendRefused(outcome);
}
