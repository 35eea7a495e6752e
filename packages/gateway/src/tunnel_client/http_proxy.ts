import { createServer, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { readAuthority } from '../tunnels/target_rules.js';
import { LocalListener } from './local_listener.js';
import type { TcpTunnels } from './tcp_tunnels.js';

/** Milliseconds for the header of a request */
const headersTimeout = 10_000;
const maxHeaderSize = 16_384;

const connectAlone =
  'this proxy takes CONNECT alone, as clients send it for https:// URLs: use the SOCKS5 port of the tunnel for http:// URLs';

/** Makes a proxy for CONNECT over HTTP/1.1 (RFC 9110 §9.3.6). */
export function httpProxy(tunnels: TcpTunnels): LocalListener {
  const options = { headersTimeout, requestTimeout: headersTimeout, maxHeaderSize };
  const server = createServer(options, (request, response) => {
    listener.noteRefused();
    end(response.socket ?? request.socket, 501, connectAlone);
  });
  const listener = new LocalListener(server, { kind: 'http' });
  server.on('clientError', (_error, socket) => {
    listener.noteRefused();
    end(socket as Socket, 400, 'this is no request of HTTP/1.1');
  });
  server.on('connect', (request, duplex, head) => {
    const socket = duplex as Socket;
    const target = readAuthority(request.url ?? '');
    if (!target) {
      listener.noteRefused();
      return end(socket, 400, 'the target of CONNECT is a host with a port, such as www.example.org:443');
    }
    if (head.length > 0) socket.unshift(head);
    void tunnels.carry(socket, target, {
      kind: 'http',
      accept: () => socket.write('HTTP/1.1 200 Connection Established\r\n\r\n'),
      refuse: ({ status, proxyStatus, message }) => end(socket, status, message, proxyStatus),
    });
  });
  return listener;
}

/** Answers, and ends the connection. */
function end(socket: Socket, status: number, message: string, proxyStatus?: string): void {
  if (!socket.writable) return void socket.destroy();
  const reason = STATUS_CODES[status] ?? 'Refused';
  const text = `${status} ${reason}: ${message}\n`;
  const fields = [
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    ...(proxyStatus === undefined ? [] : [`Proxy-Status: ${proxyStatus}`]),
  ];
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${fields.join('\r\n')}\r\n\r\n${text}`);
  socket.destroySoon();
}
