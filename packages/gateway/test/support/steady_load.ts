import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { PassThrough } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { expect, onTestFinished } from 'vitest';
import { BackendClient } from '../../src/multi_end/client/backend_client.js';
import { Exclusive } from '../../src/values/exclusive.js';
import { collect, get, getByHttp2 } from './client.js';
import { connect } from './http3_client.js';
import type { Downloads } from './loaded_site.js';
import { keepAsking, type Tally } from './repeated.js';
import { openSession, sendAndReadAll } from './sessions.js';
import { startTarget as startTcpTarget } from './tcp_target.js';
import { capsule, startTarget as startUdpTarget } from './udp_target.js';

const page = '/page/a.txt';
const pageOfBackend = '/one/a.txt';
const returnedPage = '/returned/a.txt';

/** Connections of each kind that are kept: enough to be at several workers */
const keptConnections = 3;

/** What the pages answer now: on connections of before, on new ones, and from the backend */
export interface Expected {
  kept: readonly string[];
  fresh: readonly string[];
  backend: readonly string[];
}

/** A page that is asked for again and again */
interface Asked {
  name: string;
  of: keyof Expected;
  ask(): Promise<string>;
}

/** A tunnel or a session that gives back what is sent on it */
interface Echo {
  name: string;
  send(text: string): Promise<string>;
}

export interface LoadTarget {
  port: number;
  /** SHA-256 of its certificate, in hexadecimal */
  hash: string;
  downloads: Downloads;
  /** Time in milliseconds between two requests of one client */
  pauseMs: number;
  /** Whether it is an edge, which has no tunnels and no backends */
  isEdge?: boolean;
}

export interface SteadyLoad {
  /** Asks for each page once, and uses each tunnel, each session and each download. */
  turn(expected: Expected): Promise<void>;
  /** Closes all. Resolves with the number of requests, when none has failed and no connection was closed earlier. */
  end(): Promise<number>;
}

/** What stays open, and is to close with the load alone */
class Kept {
  /** Names of what closed earlier */
  readonly closed: string[] = [];
  readonly #closers: (() => unknown)[] = [];

  add(name: string, thing: NodeJS.EventEmitter, close: () => unknown): void {
    thing.once('close', () => this.closed.push(name));
    this.whenOver(close);
  }

  whenOver(close: () => unknown): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close();
  }
}

/** Clients of all kinds, some of which keep their connections */
export async function startLoad({ port, hash, downloads, pauseMs, isEdge = false }: LoadTarget): Promise<SteadyLoad> {
  const kept = new Kept();
  onTestFinished(() => kept.close());
  const { clients, pages: ofGateway } = await openKept(port, kept);
  const multiEnd = isEdge ? { ends: [], pages: [] } : await openMultiEnd(port, kept);
  const bodies = await Promise.all([
    clients[0]!.request({ path: '/download/x' }),
    (multiEnd.ends[0] ?? clients[1]!).request({ path: '/one/download/x' }),
  ]).then((responses) => responses.map((response) => collect(response)));
  for (const body of bodies) body.catch(() => undefined);
  const tunnels = isEdge ? [] : [await openTunnel(clients[1]!, kept), await openUdp(port, kept)];
  const echoes = [await openEcho(port, hash, kept), ...tunnels].map(inTurn);
  const pages = [...ofGateway, ...multiEnd.pages, ...freshPages(port)];
  // Tunnels that nobody uses would end after a while, as they should.
  const used = echoes.map(({ name, send }) => ({ name, ask: () => send('even') }));
  const running = [...pages, ...used].map(({ name, ask }) =>
    keepAsking(name, ask, { allowed: ['even', 'odd'], pauseMs }),
  );
  let fed = 'begin ';
  return {
    async turn(expected) {
      const text = `${fed.length} `;
      fed += text;
      downloads.feed(text);
      for (const { name, of, ask } of pages) expect(expected[of], name).toContain(await ask());
      for (const { name, send } of echoes) expect(await send(text), name).toBe(text);
    },
    async end() {
      const tallies: Tally[] = await Promise.all(running.map((each) => each.stop()));
      downloads.end();
      for (const body of bodies) expect((await body).toString()).toBe(`${fed}end`);
      expect(tallies.flatMap(({ failed }) => failed)).toEqual([]);
      expect(kept.closed).toEqual([]);
      await kept.close();
      return tallies.reduce((sum, { asked }) => sum + asked, 0);
    },
  };
}

/** Sends one text after the other. */
function inTurn({ name, send }: Echo): Echo {
  const turns = new Exclusive();
  return { name, send: (text) => turns.run(() => send(text)) };
}

const textOf = async (client: Http3Client | BackendClient, path: string): Promise<string> =>
  (await collect(await client.request({ path }))).toString();

async function openKept(port: number, kept: Kept): Promise<{ clients: Http3Client[]; pages: Asked[] }> {
  const numbers = Array.from({ length: keptConnections }, (_, number) => number);
  const clients = await Promise.all(numbers.map(() => connect(port)));
  for (const client of clients) kept.add('HTTP/3', client, () => client.close());
  const sessions = numbers.map(() => connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false }));
  for (const session of sessions) kept.add('HTTP/2', session, () => session.destroy());
  return {
    clients,
    pages: [
      ...clients.map((client) => ({ name: 'HTTP/3', of: 'kept', ask: () => textOf(client, page) }) as const),
      ...clients.map(
        (client) => ({ name: 'returned', of: 'backend', ask: () => textOf(client, returnedPage) }) as const,
      ),
      ...sessions.map((session) => ({ name: 'HTTP/2', of: 'kept', ask: () => overHttp2(session) }) as const),
    ],
  };
}

const overHttp2 = async (session: ClientHttp2Session): Promise<string> =>
  (await collect(session.request({ ':path': page }))).toString();

/** Clients that ask the backend on paths of their connections to the gateway */
async function openMultiEnd(port: number, kept: Kept): Promise<{ ends: BackendClient[]; pages: Asked[] }> {
  const connections = await Promise.all(
    Array.from({ length: keptConnections }, () => connect(port, { multiEnd: true })),
  );
  const ends = connections.map((connection) => new BackendClient(connection));
  for (const connection of connections) kept.add('Multi-End', connection, () => connection.close());
  await Promise.all(ends.map((end) => end.ready(60_000)));
  expect(connections.map((each) => each.status().backends.map(({ state }) => state))).toEqual(ends.map(() => ['open']));
  return {
    ends,
    pages: ends.map((end) => ({ name: 'Multi-End', of: 'backend', ask: () => textOf(end, pageOfBackend) })),
  };
}

/** Requests on connections of their own */
function freshPages(port: number): Asked[] {
  const over3 = async (path: string): Promise<string> => {
    const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true });
    const text = await textOf(client, path);
    await client.close();
    return text;
  };
  const bodyOf = async (answer: Promise<{ body: Buffer }>): Promise<string> => (await answer).body.toString();
  return [
    { name: 'new HTTP/3', of: 'fresh', ask: () => over3(page) },
    { name: 'new returned', of: 'backend', ask: () => over3(returnedPage) },
    { name: 'new proxied', of: 'backend', ask: () => bodyOf(get(port, pageOfBackend)) },
    { name: 'new HTTP/2', of: 'fresh', ask: () => bodyOf(getByHttp2(port, page)) },
    { name: 'new HTTP/1.1', of: 'fresh', ask: () => bodyOf(get(port, page)) },
  ];
}

async function openEcho(port: number, hash: string, kept: Kept): Promise<Echo> {
  const session = await openSession(port, '/echo', hash);
  const close = (): unknown => kept.closed.push('WebTransport');
  session.closed.then(close, close);
  kept.whenOver(() => session.close());
  return { name: 'WebTransport', send: async (text) => String(await sendAndReadAll(session, Buffer.from(text))) };
}

/** A tunnel for TCP, by CONNECT over HTTP/3 */
async function openTunnel(client: Http3Client, kept: Kept): Promise<Echo> {
  const target = await startTcpTarget();
  const outgoing = new PassThrough();
  const authority = `127.0.0.1:${target.port}`;
  const incoming = await client.request({ method: 'CONNECT', path: '', authority, body: outgoing });
  kept.add('CONNECT', incoming, () => outgoing.end());
  const atTarget = await target.accept();
  atTarget.on('data', (bytes) => atTarget.write(bytes)).once('end', () => atTarget.end());
  return {
    name: 'CONNECT',
    send: async (text) => {
      outgoing.write(text);
      return String(((await once(incoming, 'data')) as [Buffer])[0]);
    },
  };
}

/** A tunnel for UDP over HTTP/1.1 */
async function openUdp(port: number, kept: Kept): Promise<Echo> {
  const target = await startUdpTarget((packet) => packet);
  const socket = await upgradeToUdp(port, target.address().port);
  kept.add('connect-udp', socket, () => socket.destroy());
  return {
    name: 'connect-udp',
    send: async (text) => {
      socket.write(capsule(text));
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      return bytes.equals(capsule(text)) ? text : bytes.toString('hex');
    },
  };
}

async function upgradeToUdp(port: number, target: number): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  socket.write(
    `GET /udp/127.0.0.1/${target}/ HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: connect-udp\r\nCapsule-Protocol: ?1\r\n\r\n`,
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /);
  return socket;
}
