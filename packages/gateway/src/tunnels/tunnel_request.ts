import type {
  Http3Server,
  NativeModule,
  OpenedTunnel,
  ServerRequest,
  ServerResponse,
  TunnelOptions,
} from '@sheaf/native';
import type { HttpVersion, RequestHeaders } from '../http/exchange.js';
import type { TakenStream } from '../http/taken_stream.js';
import { formatAddress } from '../values/listen_error.js';

/** A request for a tunnel, over any version of HTTP */
export interface TunnelRequest {
  readonly httpVersion: HttpVersion;
  readonly url: string;
  readonly authority: string;
  readonly headers: RequestHeaders;
  /** IP address of the client */
  readonly address: string;
  /** The same with the port, for the log */
  readonly remoteAddress: string;
  /** Whether the request may be a replay */
  readonly early: boolean;
  /** Sends a response without a tunnel, and ends the request. */
  refuse(status: number, headers: Readonly<Record<string, string>>): void;
  /** Ends the request of a client that has left. */
  abandon(): void;
  /** Calls `listener` once the request is over. */
  whenClosed(listener: () => void): void;
  /** As `openTunnel` of @sheaf/native */
  open(options: TunnelOptions): OpenedTunnel | undefined;
}

/** Returns a request of HTTP/3, whose packets are carried natively. */
export function fromHttp3(
  { openTunnel }: Pick<NativeModule, 'openTunnel'>,
  request: ServerRequest,
  response: ServerResponse,
): TunnelRequest {
  return {
    httpVersion: request.httpVersion,
    url: request.url,
    authority: request.authority,
    headers: request.headers,
    address: request.remoteAddress.address,
    remoteAddress: formatAddress(request.remoteAddress),
    early: request.early,
    refuse: (status, headers) => {
      if (!response.destroyed) response.writeHead(status, headers).end();
      // The client may keep its side open, which would take memory of the connection (RFC 9114 §4.1).
      request.destroy();
    },
    abandon: () => response.destroy(),
    whenClosed: (listener) => response.once('close', listener),
    open: (options) => openTunnel(request, response, options),
  };
}

/** Returns a request of HTTP/2 or HTTP/1.1, whose packets travel in capsules. `server` carries the tunnel. */
export function fromTakenStream(stream: TakenStream, server: () => Http3Server | undefined): TunnelRequest {
  const { request, port, outgoing } = stream;
  const { remoteAddress: address } = request;
  return {
    httpVersion: request.httpVersion,
    url: request.url,
    authority: request.authority,
    headers: request.headers,
    address,
    remoteAddress: port === undefined ? address : formatAddress({ address, port }),
    early: request.early,
    refuse: (status, headers) => stream.refuse(status, headers),
    abandon: () => outgoing.destroy(),
    whenClosed: (listener) => outgoing.once('close', listener),
    open: (options) => {
      const abort = ({ reason }: { reason: string }): void =>
        stream.abort(reason === 'unreachable' ? 'target' : 'client');
      const opened = server()?.carryTunnel({ ...stream, abort }, options);
      // RFC 9298 §3.3, §3.5; RFC 9297 §3.4
      if (opened) stream.accept({ 'capsule-protocol': '?1', ...options.headers });
      return opened;
    },
  };
}
