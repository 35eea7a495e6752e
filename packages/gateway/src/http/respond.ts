import { STATUS_CODES } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CREDENTIALS_HEADER } from '@sheaf/web-client/protocol';
import { systemErrorCode } from '../errors/user_error.js';
import type { Exchange, RequestHeaders } from './exchange.js';
import { addTrailers } from './trailers.js';

/** The gateway ended the exchange since its client did not do its part. */
export class SlowClient extends Error {}

/** W3C Server Timing. */
const timingHeader = 'server-timing';

type Headers = Record<string, string | number | string[]>;

/** Answers with a status and one line of text. HTTP/0.9 has no status: its stream is reset instead. */
export function respondStatus(exchange: Exchange, status: number, headers: Headers = {}): void {
  const { response, request } = exchange;
  if (response.headersSent || request.httpVersion === '0.9') {
    response.destroy(new Error(`the response cannot be ended with ${status}`));
    return;
  }
  const text = `${status} ${STATUS_CODES[status] ?? 'Error'}\n`;
  respondText(exchange, status, text, { 'content-type': 'text/plain; charset=utf-8', ...headers });
}

/** Answers with a body that is at hand. */
export function respondText(exchange: Exchange, status: number, text: string, headers: Headers): void {
  const { response, request } = exchange;
  const body = Buffer.from(text);
  setHead(exchange, status, { ...headers, 'content-length': body.length });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  exchange.bytesSent += body.length;
  response.end(body);
}

/**
 * Says how long the response took until its first byte was given to the transport, behind what servers
 * further away say about their part. Header names are in lower case. A field that stands several times is joined (RFC 9110
 * §5.3): HTTP/2 would refuse some.
 */
export function setHead(exchange: Exchange, status: number, headers: Headers): void {
  exchange.response.statusCode = status;
  for (const name in headers) {
    const value = headers[name]!;
    exchange.response.setHeader(name, Array.isArray(value) && name !== 'set-cookie' ? value.join(', ') : value);
  }
  // A page loader's worker never sees Set-Cookie, even where it fetches over the network (docs/reference/wire.md).
  if (headers['set-cookie'] !== undefined) exchange.response.setHeader(CREDENTIALS_HEADER, 'set');
  const further = headers[timingHeader];
  exchange.response.setHeader(
    timingHeader,
    further === undefined ? exchange.timing() : [further, exchange.timing()].flat().join(', '),
  );
}

/**
 * Streams `source` as the body and counts it; `trailers` are asked for behind it. A client that goes away is no error; a source that
 * fails resets the response, since its headers are already out.
 */
export async function sendBody(exchange: Exchange, source: Readable, trailers?: () => RequestHeaders): Promise<void> {
  // Before the listener of the pipeline, which ends the response.
  if (trailers) source.once('end', () => addTrailers(exchange.response, trailers()));
  const sent = pipeline(source, exchange.response);
  source.on('data', (chunk: Buffer) => (exchange.bytesSent += chunk.length));
  try {
    await sent;
  } catch (error) {
    if (!exchange.aborted && !(error instanceof SlowClient) && systemErrorCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE')
      throw error;
  }
}
