// Clients that request much and read nothing. Each function resolves once the client has connected and sent its
// requests.
import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { connectHttp3, type ClientResponse } from '@sheaf/native';

export const protocols = ['h3', 'h2', 'h1'] as const;
export type Protocol = (typeof protocols)[number];

/**
 * Kind of request: `headers` sends 30 KB of fields to an upstream, and `bodies` never sends the body that it announced.
 */
export const behaviours = ['files', 'upstream', 'headers', 'bodies'] as const;
export type Behaviour = (typeof behaviours)[number];

export interface GreedyClient {
  connections: number;
  /** Ends the connections. A gateway holds those of clients that vanish until they have been idle for long. */
  close(): Promise<unknown>;
}

interface Wanted {
  method: string;
  path: string;
  headers: Record<string, string>;
}

const headerBytes = 30_000;
const windowBytes = 1_024;
/** Maximum wait in milliseconds, since the gateway lets some of many connections from one address wait */
const mostWaitMs = 1_000;
/** Maximum of requests that the gateway lets wait on one connection of HTTP/1.1 */
const pipelined = 32;

function wantedBy(behaviour: Behaviour): Wanted {
  const path = behaviour === 'files' ? '/large' : behaviour === 'bodies' ? '/up/post' : '/up/large';
  const method = behaviour === 'bodies' ? 'POST' : 'GET';
  return { method, path, headers: behaviour === 'headers' ? largeFields() : {} };
}

let fieldsMade = 0;

/**
 * Returns large fields. Each is below the 16 KB that upstreams accept, and all differ, so that no compression table
 * shortens them.
 */
function largeFields(): Record<string, string> {
  fieldsMade += 1;
  return Object.fromEntries(
    [0, 1, 2, 3].map((at) => [`x-large-${at}`, `${fieldsMade}-${at}-`.padEnd(headerBytes / 4, 'abcdefghij')]),
  );
}

/** Starts a client of `protocol` that sends `requests` requests of this behaviour. */
export function startGreedyClient(
  protocol: Protocol,
  behaviour: Behaviour,
  port: number,
  requests: number,
): Promise<GreedyClient> {
  return { h3: http3, h2: http2, h1: http1 }[protocol](behaviour, port, requests);
}

async function http3(behaviour: Behaviour, port: number, requests: number): Promise<GreedyClient> {
  const client = await connectHttp3({
    host: '127.0.0.1',
    port,
    alpn: ['h3'],
    insecure: true,
    initialStreamWindow: windowBytes,
    maxStreamWindow: windowBytes,
    idleTimeoutMs: 120_000,
    connectTimeoutMs: 60_000,
  });
  for (let i = 0; i < requests; i++) {
    const wanted = wantedBy(behaviour);
    void client
      .request({ ...wanted, ...(behaviour === 'bodies' && { body: neverSent() }) })
      .then(ignore, () => undefined);
  }
  return { connections: 1, close: () => client.close() };
}

async function* neverSent(): AsyncGenerator<Buffer> {
  yield Buffer.alloc(1_000);
  await new Promise(() => undefined);
}

function ignore(response: ClientResponse): void {
  response.on('error', () => undefined);
}

async function http2(behaviour: Behaviour, port: number, requests: number): Promise<GreedyClient> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    settings: { initialWindowSize: windowBytes },
    maxSessionMemory: 1000,
    maxOutstandingPings: 100,
  });
  session.on('error', () => undefined);
  await once(session, 'remoteSettings');
  let [asked, closed] = [0, 0];
  // Holds back what the gateway does not allow yet: nghttp2 would copy its fields, 3 GB of 100 clients.
  const ask = (): void => {
    for (let open = asked - closed; asked < requests && open < allowedBy(session); open++, asked++) {
      const { method, path, headers } = wantedBy(behaviour);
      const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: method === 'GET' });
      stream.on('error', () => undefined).pause();
      stream.once('close', () => {
        closed += 1;
        ask();
      });
      if (method === 'POST') stream.write(Buffer.alloc(1_000));
    }
  };
  session.on('remoteSettings', ask);
  ask();
  return {
    connections: 1,
    close: async () => {
      session.destroy();
      await once(session, 'close');
    },
  };
}

/** Returns how many streams may be open at a time. */
function allowedBy(session: ClientHttp2Session): number {
  return session.closed || session.destroyed ? 0 : (session.remoteSettings.maxConcurrentStreams ?? Infinity);
}

/**
 * Opens as many connections as these requests need, each with as many pipelined requests as the gateway lets wait. No
 * request can follow a body that never comes, so each of these has a connection of its own.
 */
async function http1(behaviour: Behaviour, port: number, requests: number): Promise<GreedyClient> {
  const ahead = behaviour === 'bodies' ? 1 : pipelined;
  const request = Buffer.from(requestText(behaviour));
  // Shared, since making one costs more than a connection does.
  const secureContext = createSecureContext();
  const sockets = Array.from({ length: Math.ceil(requests / ahead) }, () => {
    const socket = connectTls({
      host: '127.0.0.1',
      port,
      secureContext,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    });
    socket.on('error', () => undefined).pause();
    for (let i = 0; i < ahead; i++) socket.write(request);
    return socket;
  });
  const there = sockets.map(
    (socket) => new Promise((resolve) => socket.once('secureConnect', resolve).once('close', resolve)),
  );
  await Promise.race([Promise.all(there), sleep(mostWaitMs)]);
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await Promise.all(sockets.filter(({ closed }) => !closed).map((socket) => once(socket, 'close')));
  };
  return { connections: sockets.length, close };
}

function requestText(behaviour: Behaviour): string {
  const { method, path, headers } = wantedBy(behaviour);
  const fields = Object.entries({
    host: 'localhost',
    ...headers,
    ...(method === 'POST' && { 'content-length': '100000' }),
  });
  return `${method} ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${method === 'POST' ? 'x'.repeat(1_000) : ''}`;
}
