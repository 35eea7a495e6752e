import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { connect as connectHttp3 } from './http3_client.js';

export const versions = ['1.1', '2', '3'] as const;
export type Version = (typeof versions)[number];

/** What a client asks for: the target as authority (CONNECT), or a path of a template, with further fields */
export interface Wanted {
  authority?: string;
  path?: string;
  fields?: Record<string, string>;
}

/** The client's side of a request, whatever its response is */
export interface Asked {
  status: number;
  /** Whether a status 100 came ahead */
  interim: boolean;
  headers: Record<string, unknown>;
  incoming: Readable;
  outgoing: Writable;
  /** Resets the stream, or closes the connection. */
  reset(): void;
  /** Code with which the proxy has broken off; resolves when the stream is closed */
  code: Promise<number | undefined>;
}

/** Opens a connection with TLS. `raw` is the one below it. */
async function openSocket(port: number, protocol: string): Promise<{ socket: TLSSocket; raw: Socket }> {
  const raw = connectTcp({ host: '127.0.0.1', port, allowHalfOpen: true });
  const socket = connectTls({ socket: raw, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  onTestFinished(() => void socket.destroy());
  for (const each of [socket, raw]) each.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return { socket, raw };
}

/** Waits for the end of a stream, in order or not. */
const endOf = (stream: Readable): Promise<void> =>
  new Promise((resolve) => void stream.once('close', resolve).once('end', resolve));

/** Reads the head of a response, and nothing behind it. */
async function readHead(socket: TLSSocket): Promise<string[]> {
  let head = '';
  while (!head.includes('\r\n\r\n')) {
    const byte = socket.read(1) as Buffer | null;
    if (byte) head += String(byte);
    else await once(socket, 'readable');
  }
  return head.split('\r\n').slice(0, -2);
}

async function overHttp1(port: number, { authority, path, fields: more = {} }: Wanted): Promise<Asked> {
  const { socket, raw } = await openSocket(port, 'http/1.1');
  const line = path === undefined ? `CONNECT ${authority}` : `GET ${path}`;
  const upgrade = path === undefined ? {} : { Connection: 'Upgrade', Upgrade: 'connect-tcp' };
  const sent = Object.entries({ Host: 'proxy.example', ...upgrade, ...more }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`${line} HTTP/1.1\r\n${sent.join('')}\r\n`);
  let [start = '', ...fields] = await readHead(socket);
  const interim = start.includes(' 100 ');
  if (interim) [start = '', ...fields] = await readHead(socket);
  return {
    status: Number(start.split(' ')[1]),
    interim,
    headers: Object.fromEntries(fields.map((field) => field.split(': ') as [string, string])),
    incoming: socket,
    outgoing: socket,
    reset: () => void raw.resetAndDestroy(),
    code: endOf(socket).then(() => undefined),
  };
}

async function overHttp2(port: number, { authority = 'proxy.example', path, fields }: Wanted): Promise<Asked> {
  const { socket } = await openSocket(port, 'h2');
  const session = connectHttp2(`https://127.0.0.1:${port}`, { createConnection: () => socket });
  session.on('error', () => undefined);
  await once(session, 'remoteSettings');
  const extended = path !== undefined && { ':protocol': 'connect-tcp', ':scheme': 'https', ':path': path };
  const stream = session.request(
    { ':method': 'CONNECT', ':authority': authority, ...extended, ...fields },
    { endStream: false },
  );
  let interim = false;
  stream.on('error', () => undefined).on('continue', () => (interim = true));
  const code = new Promise<number | undefined>((resolve) => void stream.once('close', () => resolve(stream.rstCode)));
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  return {
    status: headers[':status'] as number,
    interim,
    headers,
    incoming: stream,
    outgoing: stream,
    reset: () => stream.close(constants.NGHTTP2_CANCEL),
    code,
  };
}

async function overHttp3(port: number, { authority = 'proxy.example', path, fields }: Wanted): Promise<Asked> {
  const client = await connectHttp3(port);
  const outgoing = new PassThrough();
  const cancel = new AbortController();
  let interim = false;
  const response = await client.request({
    method: 'CONNECT',
    path: path ?? '',
    ...(path !== undefined && { protocol: 'connect-tcp' }),
    ...(fields && { headers: fields }),
    authority,
    body: outgoing,
    signal: cancel.signal,
    onInformational: (status) => void (interim ||= status === 100),
  });
  const code = new Promise<number | undefined>((resolve) => {
    response.once('error', (error: { errorCode?: number }) => resolve(error.errorCode));
    response.once('end', () => resolve(undefined));
  });
  const { status, headers } = response;
  return { status, interim, headers, incoming: response, outgoing, reset: () => cancel.abort(), code };
}

export const ask = (version: Version, port: number, wanted: Wanted): Promise<Asked> =>
  ({ '1.1': overHttp1, '2': overHttp2, '3': overHttp3 })[version](port, wanted);
