import { EventKind, type NativeEndpoint, type NativeEvent } from './addon.js';
import type { OnFault } from './contain.js';
import { endMessageRefused, endRefused } from './end_refused.js';
import type { EndControl, EndWithdrawal, ServerConnectionEvents } from './multi_end_types.js';
import { HostedConnection } from './hosted_connection.js';
import type { PathEvent, SocketAddress } from './types.js';

/** A connection that shook hands here; the primary of its ends, if it has any. */
export class AcceptedConnection extends HostedConnection<ServerConnectionEvents> implements EndControl {
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

  handOver(end: number, { address, port }: SocketAddress): Buffer {
    const snapshot = this.endpoint.handOverEnd(this.handle, end, { address, port });
    if (typeof snapshot === 'number') throw endRefused(snapshot);
    return snapshot;
  }
  offerEnd(end: number): void {
    check(this.endpoint.offerEnd(this.handle, end));
  }
  withdrawEnd(end: number, how: EndWithdrawal): void {
    check(this.endpoint.withdrawEnd(this.handle, end, how === 'gone'));
  }
  receiveEndMessage(end: number, message: Uint8Array): void {
    if (!this.endpoint.receiveEndMessage(this.handle, end, message)) throw endMessageRefused();
  }

  onEndEvent(event: NativeEvent): void {
    switch (event[0]) {
      case EventKind.multiEndReady:
        this.multiEnd = true;
        this.emit('multiEndReady');
        return;
      case EventKind.endMessage:
        this.emit('endMessage', event[2] as number, event[3] as Buffer);
        return;
      case EventKind.endPathAbandoned:
        this.emit('endPathAbandoned', event[2] as number, event[4] as number);
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
  if (outcome < 0) throw endRefused(outcome);
}
