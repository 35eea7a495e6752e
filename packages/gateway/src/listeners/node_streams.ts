import { STATUS_CODES, type IncomingMessage } from 'node:http';
import { constants, type Http2ServerRequest } from 'node:http2';
import type { Socket } from 'node:net';
import type { Fields, TakenStream } from '../http/taken_stream.js';

/** Milliseconds that a client has to end its side of a stream that was refused */
const patienceMs = 1_000;

type Received = Pick<TakenStream, 'request' | 'port'>;

/** Nobody may read the request, which would take the bytes of its stream. */
export function fromHttp2Connect({ stream }: Http2ServerRequest, received: Received): TakenStream {
  return {
    ...received,
    carrier: stream.session ?? stream,
    incoming: stream,
    outgoing: stream,
    confirm: () => {
      if (!stream.destroyed && !stream.closed) stream.additionalHeaders({ ':status': 100 });
    },
    accept: (headers) => stream.respond({ ...headers, ':status': 200 }),
    refuse: (status, headers) => {
      if (stream.destroyed || stream.closed) return;
      stream.respond({ ...headers, ':status': status }, { endStream: true });
      // The client may keep its side open (RFC 9113 §8.1). Some clients forget a response that a reset follows at once.
      const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), patienceMs).unref();
      stream.once('close', () => clearTimeout(timer));
    },
    abort: (cause) =>
      stream.close(cause === 'target' ? constants.NGHTTP2_CONNECT_ERROR : constants.NGHTTP2_PROTOCOL_ERROR),
  };
}

/** Returns a request that upgrades, or a CONNECT. */
export function fromConnection(socket: Socket, received: Received): TakenStream {
  return {
    ...received,
    carrier: socket,
    incoming: socket,
    outgoing: socket,
    confirm: () => void socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
    accept: (headers) => {
      const { protocol: upgrade } = received.request;
      if (upgrade === undefined) socket.write(responseHead(200, headers));
      else socket.write(responseHead(101, { connection: 'Upgrade', upgrade, ...headers }));
    },
    refuse: (status, headers) => refuseConnection(socket, status, headers),
    abort: () => socket.destroy(),
  };
}

/** Sends a response to a request that Node's parser has left, and closes the connection. */
export function refuseConnection(socket: Socket, status: number, headers: Fields = {}): void {
  if (!socket.writable) return;
  socket.write(responseHead(status, { ...headers, connection: 'close', 'content-length': '0' }));
  socket.destroySoon();
}

function responseHead(status: number, headers: Fields): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${fields.join('')}\r\n`;
}

/** Returns the protocols that a request offers to upgrade to. */
export function upgradesOf({ headers }: Pick<IncomingMessage, 'headers'>): string[] {
  return (headers.upgrade ?? '').split(',').map((item) => item.trim().toLowerCase());
}
