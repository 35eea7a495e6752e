import type { FlatFields } from '../addon.js';
import { appendFields, pseudoField, toHeaderMap } from '../headers.js';
import type { StreamLocation } from '../http3_body.js';
import type { HeaderMap, RequestHeaders, SocketAddress, WebTransportRequest, WebTransportSession } from '../types.js';
import type { WebTransportConnection } from './connection.js';
import type { NativeSession } from './native_session.js';
import { WebSession } from './web_session.js';

/** Tokens of draft-ietf-webtrans-http3: the first up to draft 14, the second since. */
const protocols = new Set(['webtransport', 'webtransport-h3']);

export function isSessionRequest(fields: FlatFields): boolean {
  return protocols.has(pseudoField(fields, ':protocol'));
}

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

  accept(headers: RequestHeaders = {}): WebTransportSession {
    return new WebSession(this.acceptNative(headers));
  }
  /** Accepts the session for code that uses it below the W3C interface. */
  acceptNative(headers: RequestHeaders = {}): NativeSession {
    const fields: FlatFields = [];
    appendFields(fields, headers);
    return this.sessions.accept(this.location.stream, fields);
  }
  reject(status: number): void {
    this.location.endpoint.rejectSession(this.location.connection, this.location.stream, status);
  }
}
