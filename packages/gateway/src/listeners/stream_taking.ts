import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { GatewayRequest } from '../http/exchange.js';
import { fromNodeResponse } from '../http/node_response.js';
import type { Fields, StreamTaker, StreamTakers, TakenStream } from '../http/taken_stream.js';
import { fromConnection, fromHttp2Connect, refuseConnection, upgradesOf } from './node_streams.js';
import { hasOneHost } from './one_host.js';
import type { TcpClients } from './tcp_clients.js';

export interface StreamTakingOptions {
  takers: StreamTakers;
  clients: TcpClients;
  /** Converts a request, and finds its client. */
  convert(request: IncomingMessage | Http2ServerRequest): GatewayRequest;
}

/** Passes the requests of a TCP listener that take their streams over to those who answer them. */
export class StreamTaking {
  readonly #options: StreamTakingOptions;

  constructor(options: StreamTakingOptions) {
    this.#options = options;
  }

  /** Answers a CONNECT of HTTP/2. */
  onConnect(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const protocol = request.headers[':protocol'];
    const received = this.#received(request, protocol);
    const stream = fromHttp2Connect(request, received);
    const taker = this.#options.takers.get(protocol);
    if (!taker) {
      // RFC 9110 §15.6.2, RFC 9220 §3
      stream.refuse(501, {});
      return;
    }
    this.#options.clients.begin(request, received.request.remoteAddress, fromNodeResponse(response), () =>
      taker(stream),
    );
  }

  /** Answers a request of HTTP/1.1 that upgrades its connection. `head`: what came behind it */
  onUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { takers } = this.#options;
    const protocol = upgradesOf(request).find((name) => takers.has(name));
    const taker = protocol === undefined ? undefined : takers.get(protocol);
    const status = faultOf(request);
    if (status !== undefined) this.#refuse(request, socket, status, status === 405 ? { allow: 'GET' } : {});
    else if (taker) this.#takeOver(request, socket, head, { protocol, taker });
  }

  /** Answers a CONNECT of HTTP/1.1. */
  onTunnel(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const taker = this.#options.takers.get(undefined);
    if (!taker) this.#refuse(request, socket, 501);
    else if (!hasOneHost(request)) this.#refuse(request, socket, 400);
    else this.#takeOver(request, socket, head, { protocol: undefined, taker });
  }

  #takeOver(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    { protocol, taker }: { protocol: string | undefined; taker: StreamTaker },
  ): void {
    const { clients } = this.#options;
    if (head.length > 0) socket.unshift(head);
    const stream = fromConnection(socket, this.#received(request, protocol));
    clients.takeOver(request, socket, () => taker(stream));
  }

  /** Refuses in turn: earlier responses of the connection may not be complete. */
  #refuse(request: IncomingMessage, socket: Socket, status: number, headers: Fields = {}): void {
    this.#options.clients.takeOver(request, socket, () => refuseConnection(socket, status, headers));
  }

  #received(
    request: IncomingMessage | Http2ServerRequest,
    protocol: string | undefined,
  ): Pick<TakenStream, 'request' | 'port'> {
    const received = this.#options.convert(request);
    const { remoteAddress, remotePort } = request.socket;
    return {
      request: protocol === undefined ? received : { ...received, protocol },
      port: received.remoteAddress === remoteAddress ? remotePort : undefined,
    };
  }
}

/** Returns the status for a request that cannot upgrade: another method (RFC 9298 §3.2), a body, or not one host. */
function faultOf(request: IncomingMessage): 400 | 405 | undefined {
  const { method, headers, httpVersion } = request;
  if (method !== 'GET') return 405;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
  return hasBody || httpVersion !== '1.1' || !hasOneHost(request) ? 400 : undefined;
}
