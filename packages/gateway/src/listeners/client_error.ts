import type { Socket } from 'node:net';

/** Status of an error of Node's parser, or of its check for requests that take too long; others get 400 */
const statusOf: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/**
 * Ends an HTTP/1.1 connection that carries no valid request, with a response unless another one is in flight. A connection
 * that never carried a byte ends silently: browsers connect ahead of their requests, and what comes on such a connection
 * would be the response to one that they are just sending.
 */
export function endMalformed(error: NodeJS.ErrnoException, socket: Socket, isBusy: boolean): void {
  if (!socket.writable || socket.bytesRead === 0 || isBusy) {
    socket.destroy();
    return;
  }
  socket.write(`HTTP/1.1 ${statusOf[error.code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
  socket.destroySoon();
}
