import type { FlatFields } from '../addon.js';
import { pseudoField, toHeaderMap } from '../headers.js';
import type { StreamLocation } from '../http3_body.js';
import type { HeaderMap, SocketAddress, WebTransportRequest, WebTransportSession } from '../types.js';
import type { WebTransportConnection } from './connection.js';
import type { NativeSession } from './native_session.js';
import { WebSession } from './web_session.js';

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
    this.headers = toHeaderMap(fields);
    this.authority = pseudoField(fields, ':authority') || String(this.headers['host'] ?? '');
    const origin = this.headers['origin'];
    this.origin = typeof origin === 'string' ? origin : undefined;
  }

  accept(): WebTransportSession {
    return new WebSession(this.acceptNative());
  }
  /** For what uses the session below the W3C interface. */
  acceptNative(): NativeSession {
    return this.sessions.accept(this.location.stream);
  }
  reject(status: number): void {
    this.location.endpoint.rejectSession(this.location.connection, this.location.stream, status);
  }
}
