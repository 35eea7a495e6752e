import type { FlatFields } from '../addon.js';
import { pseudoField, toHeaderMap } from '../headers.js';
import type { StreamLocation } from '../http3_body.js';
import type { HeaderMap, SocketAddress, WebTransportRequest } from '../types.js';
import type { WebTransportConnection } from './connection.js';
import type { NativeSession } from './native_session.js';

export class NativeWebTransportRequest implements WebTransportRequest {
  readonly url: string;
  readonly authority: string;
  readonly headers: HeaderMap;
  readonly origin: string | undefined;

  constructor(
    private readonly location: StreamLocation,
    fields: FlatFields,
    readonly remoteAddress: SocketAddress,
    private readonly sessions: WebTransportConnection,
  ) {
    this.url = pseudoField(fields, ':path');
    this.authority = pseudoField(fields, ':authority');
    this.headers = toHeaderMap(fields);
    const origin = this.headers['origin'];
    this.origin = typeof origin === 'string' ? origin : undefined;
  }

  accept(): NativeSession {
    return this.sessions.accept(this.location.stream);
  }
  reject(status: number): void {
    this.location.endpoint.rejectSession(this.location.connection, this.location.stream, status);
  }
}
