import type { FlatFields } from './addon.js';
import { pseudoField, toHeaderMap } from './headers.js';
import { IncomingBody, type StreamLocation } from './http3_body.js';
import type { HeaderMap, ServedConnection, ServerRequest, SocketAddress } from './types.js';

export class Http3ServerRequest extends IncomingBody implements ServerRequest {
  readonly method: string;
  readonly url: string;
  readonly authority: string;
  readonly scheme: string;
  readonly headers: HeaderMap;
  readonly streamId: number;
  readonly protocol: string | undefined;

  constructor(
    location: StreamLocation,
    fields: FlatFields,
    readonly connection: ServedConnection,
    readonly remoteAddress: SocketAddress,
    readonly httpVersion: '3' | '0.9',
    readonly early: boolean,
  ) {
    super(location);
    this.streamId = location.stream;
    this.method = pseudoField(fields, ':method');
    this.url = pseudoField(fields, ':path') || '/';
    this.scheme = pseudoField(fields, ':scheme') || 'https';
    this.headers = toHeaderMap(fields);
    this.protocol = pseudoField(fields, ':protocol') || undefined;
    this.authority = pseudoField(fields, ':authority') || String(this.headers['host'] ?? '');
    // Handlers written for HTTP/1.1 look for the host in this field.
    if (this.authority !== '') this.headers['host'] ??= this.authority;
  }
}
