import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface TestUpstream {
  origin: string;
  port: number;
  server: Server | TlsServer;
  stop(): Promise<void>;
}

/** An HTTP server on a free port (or this one); stops with the test. */
export function startUpstream(listener: RequestListener, port = 0): Promise<TestUpstream> {
  return start(createServer(listener), 'http', port);
}

/** The same over TLS. */
export function startTlsUpstream(options: ServerOptions, listener: RequestListener): Promise<TestUpstream> {
  return start(createTlsServer(options, listener), 'https', 0);
}

async function start(server: Server | TlsServer, scheme: string, port: number): Promise<TestUpstream> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(stop);
  const bound = (server.address() as AddressInfo).port;
  return { origin: `${scheme}://127.0.0.1:${bound}`, port: bound, server, stop };
}
