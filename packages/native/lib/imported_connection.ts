import { EventKind, ImportRefusal, type NativeEndpoint, type NativeEvent } from './addon.js';
import type { OnFault } from './contain.js';
import { backendMessageRefused } from './backend_refused.js';
import type { ImportedConnectionEvents } from './multi_end_types.js';
import { QuicError } from './quic_error.js';
import { HostedConnection } from './hosted_connection.js';
import type { ImportedConnection, SocketAddress } from './types.js';

/** A path of another server's connection, which this server has taken over (docs/internals/multi-end.md). */
export class TakenOverConnection extends HostedConnection<ImportedConnectionEvents> implements ImportedConnection {
  readonly alpn = 'h3';

  constructor(
    endpoint: NativeEndpoint,
    handle: number,
    readonly id: string,
    onFault: OnFault,
  ) {
    // The primary handles the path and learns of its events from the client.
    super(endpoint, handle, () => undefined, onFault);
  }

  /** The address of the client, known from its first packet on. */
  get remoteAddress(): SocketAddress {
    return this.status().paths[0]?.remote ?? { address: '', port: 0, family: 'IPv4' };
  }

  receivePrimaryMessage(message: Uint8Array): void {
    if (!this.endpoint.receivePrimaryMessage(this.handle, message)) throw backendMessageRefused();
  }
  drain(): void {
    this.endpoint.drainBackend(this.handle);
  }
  forget(): void {
    this.endpoint.forgetConnection(this.handle);
  }

  onBackendEvent(event: NativeEvent): void {
    if (event[0] === EventKind.primaryMessage) this.emit('primaryMessage', event[2] as Buffer);
    else if (event[0] === EventKind.drained) this.emit('drained');
  }
  onClosed(error: Error | undefined): void {
    this.emit('close', error);
  }
}

/** @throws QuicError `SNAPSHOT_REFUSED` */
export function importSnapshot(endpoint: NativeEndpoint, snapshot: Uint8Array): number {
  const handle = endpoint.importConnection(snapshot);
  if (handle >= 0) return handle;
  const text = (ImportRefusal as Record<number, string>)[handle] ?? `refused (${handle})`;
  throw new QuicError('SNAPSHOT_REFUSED', `the hand-over is refused: ${text}`);
}
