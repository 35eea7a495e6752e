import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';

/** A server that gives its connections to the test; closes with it */
export async function startTarget(options: { pauseOnConnect?: boolean } = {}) {
  const connections: Socket[] = [];
  const waiting: ((socket: Socket) => void)[] = [];
  const server: Server = createServer({ allowHalfOpen: true, ...options }, (socket) => {
    socket.on('error', () => undefined);
    const next = waiting.shift();
    if (next) next(socket);
    else connections.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const accept = (): Promise<Socket> => {
    const socket = connections.shift();
    return socket ? Promise.resolve(socket) : new Promise((resolve) => waiting.push(resolve));
  };
  return { port, accept, server };
}

/** Reads to the end. Iterating over the stream would also close its other direction. */
export async function readAll(stream: Readable): Promise<string> {
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += String(chunk))).resume();
  await once(stream, 'end');
  return text;
}
