import {
  tunnelFields,
  type Http3Server,
  type NativeModule,
  type OpenedTunnel,
  type ServerRequest,
  type ServerResponse,
  type TunnelOptions,
} from '@sheaf/native';
import { expectsContinue, type HttpVersion, type RequestHeaders } from '../http/exchange.js';
import type { TakenStream } from '../http/taken_stream.js';
import { formatAddress } from '../values/listen_error.js';
import type { Target } from './target_rules.js';

/** A request for a tunnel of some kind, over any version of HTTP */
export interface AskedTunnel {
  readonly httpVersion: HttpVersion;
  /** Path or target, for the log */
  readonly asked: string;
  readonly authority: string;
  readonly headers: RequestHeaders;
  /** IP address of the client */
  readonly address: string;
  /** The same with the port, for the log */
  readonly remoteAddress: string;
  /** Whether the request may be a replay */
  readonly early: boolean;
  /** Whether the client takes the proxy for an origin, and so knows nothing of 407 */
  readonly asOrigin?: boolean;
  /** Sends a response without a tunnel, and ends the request. */
  refuse(status: number, headers: Readonly<Record<string, string>>): void;
  /** Ends the request of a client that has left. */
  abandon(): void;
  /** Calls `listener` once the request is over. */
  whenClosed(listener: () => void): void;
}

/** A request for UDP proxying */
export interface TunnelRequest extends AskedTunnel {
  readonly url: string;
  /** As `openTunnel` of @sheaf/native */
  open(options: TunnelOptions): OpenedTunnel | undefined;
}

/** A request for a TCP connection: a CONNECT, or one by a template of URIs (draft-ietf-httpbis-connect-tcp-14) */
export interface ConnectRequest extends AskedTunnel {
  /** Path with the target; undefined where the authority is the target */
  readonly url?: string;
  readonly stream: Pick<TakenStream, 'incoming' | 'outgoing' | 'accept' | 'abort'>;
  /** Tells a client that waits for it that the target is being connected to (RFC 9110 §10.1.1). */
  confirm(): void;
}

/** What the log says about a tunnel of any kind. `address`: that of the target */
export const aboutTunnel = (
  { httpVersion, remoteAddress }: Pick<AskedTunnel, 'httpVersion' | 'remoteAddress'>,
  { target: { host, port }, address, user }: { target: Target; address: string; user: string | undefined },
) => ({
  target: formatAddress({ address: host, port }),
  address,
  httpVersion,
  remoteAddress,
  ...(user === undefined ? {} : { user }),
});

const connectErrorCode = 0x10f;
const requestCancelledCode = 0x10c;

function ofHttp3(request: ServerRequest, response: ServerResponse): AskedTunnel {
  return {
    httpVersion: request.httpVersion,
    asked: request.url,
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
  };
}

function ofTakenStream({ request, port, outgoing, refuse }: TakenStream): AskedTunnel {
  const { remoteAddress: address } = request;
  return {
    httpVersion: request.httpVersion,
    asked: request.url,
    authority: request.authority,
    headers: request.headers,
    address,
    remoteAddress: port === undefined ? address : formatAddress({ address, port }),
    early: request.early,
    refuse,
    abandon: () => outgoing.destroy(),
    whenClosed: (listener) => outgoing.once('close', listener),
  };
}

/** Returns a request for UDP proxying over HTTP/3, whose packets are carried natively. */
export function tunnelOverHttp3(
  { openTunnel }: Pick<NativeModule, 'openTunnel'>,
  request: ServerRequest,
  response: ServerResponse,
): TunnelRequest {
  return {
    ...ofHttp3(request, response),
    url: request.url,
    open: (options) => openTunnel(request, response, options),
  };
}

/** Returns one over HTTP/2 or HTTP/1.1, whose packets travel in capsules. `server` carries the tunnel. */
export function tunnelOverStream(stream: TakenStream, server: () => Http3Server | undefined): TunnelRequest {
  return {
    ...ofTakenStream(stream),
    url: stream.request.url,
    open: (options) => {
      const abort = ({ reason }: { reason: string }): void =>
        stream.abort(reason === 'unreachable' ? 'target' : 'client');
      const opened = server()?.carryTunnel({ ...stream, abort }, options);
      if (opened) stream.accept(tunnelFields(options));
      return opened;
    },
  };
}

/** Returns a CONNECT of HTTP/3. */
export function connectOverHttp3(request: ServerRequest, response: ServerResponse): ConnectRequest {
  return {
    ...ofHttp3(request, response),
    asked: request.authority,
    confirm: () => {
      if (expectsContinue(request.headers) && !response.destroyed) response.writeInformational(100);
    },
    stream: {
      incoming: request,
      outgoing: response,
      accept: (headers) => response.writeHead(200, headers).flushHeaders(),
      abort: (cause) => {
        response.reset(cause === 'target' ? connectErrorCode : requestCancelledCode);
        request.destroy();
      },
    },
  };
}

/** Returns a CONNECT of HTTP/2 or HTTP/1.1. */
export function connectOverStream(stream: TakenStream): ConnectRequest {
  const { request } = stream;
  // The target of HTTP/1.1 stands in the first line; a Host field may say something else (RFC 9112 §3.2.3).
  const authority = request.httpVersion === '2' ? request.authority : request.url;
  return {
    ...ofTakenStream(stream),
    asked: authority,
    authority,
    stream,
    confirm: () => {
      if (expectsContinue(request.headers)) stream.confirm();
    },
  };
}

/** Returns the same request by a template: `url` has its target, and `authority` is that of the proxy. */
export const byTemplate = (connect: ConnectRequest, url: string, authority: string): ConnectRequest => ({
  ...connect,
  url,
  asked: url,
  authority,
  asOrigin: true,
  // §3.3.3: the GET of HTTP/1.1 could be cached.
  refuse: (status, headers) => connect.refuse(status, { 'cache-control': 'no-store', ...headers }),
});
