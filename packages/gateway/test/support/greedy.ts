import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Stream } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { connect } from './http3_client.js';

/** Where a client of another network than 127.0.0.1 comes from. */
export const elsewhere = '127.0.0.2';

export const versions = ['1.1', '2', '3'] as const;
export type Version = (typeof versions)[number];

export interface GreedyRequest {
  path: string;
  method?: string;
  /** A body of this length is announced, and one byte of it sent. */
  announced?: number;
}

/** What became of one request, as far as its client looked. */
export interface Outcome {
  status?: number;
  /** The gateway ended the stream or the connection. */
  ended?: boolean;
}

/** Makes so many requests from 127.0.0.1, reads the heads of the responses and nothing more. */
export function ask(version: Version, port: number, count: number, request: GreedyRequest): Promise<Outcome[]> {
  const outcomes = Array.from({ length: count }, (): Outcome => ({}));
  return { '1.1': askByHttp1, '2': askByHttp2, '3': askByHttp3 }[version](port, outcomes, request).then(() => outcomes);
}

async function askByHttp1(
  port: number,
  outcomes: Outcome[],
  { path, method = 'GET', announced }: GreedyRequest,
): Promise<void> {
  await Promise.all(
    outcomes.map(async (outcome) => {
      const socket: TLSSocket = connectTls({
        host: '127.0.0.1',
        port,
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
      });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined).once('close', () => (outcome.ended = true));
      // The gateway may close a connection that waited long for its turn.
      if (!(await once(socket, 'secureConnect').catch(() => undefined))) return;
      socket.once('data', (head: Buffer) => {
        outcome.status = Number(/^HTTP\/1.1 (\d+)/.exec(head.toString('latin1'))?.[1]);
        socket.pause();
      });
      socket.write(
        `${method} ${path} HTTP/1.1\r\nhost: site\r\n${announced === undefined ? '' : `content-length: ${announced}\r\n`}\r\n${announced === undefined ? '' : 'x'}`,
      );
    }),
  );
}

async function askByHttp2(
  port: number,
  outcomes: Outcome[],
  { path, method = 'GET', announced }: GreedyRequest,
): Promise<void> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  session.on('error', () => undefined);
  await once(session, 'connect');
  for (const outcome of outcomes) {
    const length = announced === undefined ? {} : { 'content-length': String(announced) };
    const stream: ClientHttp2Stream = session.request(
      { ':path': path, ':method': method, ...length },
      { endStream: announced === undefined },
    );
    if (announced !== undefined) stream.write('x');
    stream
      .pause()
      .on('error', () => undefined)
      .once('close', () => (outcome.ended = true))
      .once('response', (head) => (outcome.status = Number(head[':status'])));
  }
}

async function askByHttp3(
  port: number,
  outcomes: Outcome[],
  { path, method = 'GET', announced }: GreedyRequest,
): Promise<void> {
  const client = await connect(port);
  for (const outcome of outcomes) {
    const body = announced === undefined ? {} : { headers: { 'content-length': String(announced) }, body: oneByte() };
    client
      .request({ path, method, authority: 'site', ...body })
      .then((response) => {
        outcome.status = response.status;
        response.on('error', () => (outcome.ended = true));
      })
      .catch(() => (outcome.ended = true));
  }
}

async function* oneByte(): AsyncGenerator<Buffer> {
  yield Buffer.from('x');
  await new Promise(() => undefined);
}
