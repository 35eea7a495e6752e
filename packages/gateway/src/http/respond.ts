import { STATUS_CODES } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CREDENTIALS_HEADER } from '@sheaf/web-client/protocol';
import { systemErrorCode } from '../errors/user_error.js';
import type { Exchange, RequestHeaders } from './exchange.js';
import { addTrailers } from './trailers.js';

/** The gateway ended the exchange because its client was too slow. */
export class SlowClient extends Error {}

/** W3C Server Timing */
export const timingHeader = 'server-timing';

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

/** Answers with a text as the complete body. */
export function respondText(exchange: Exchange, status: number, text: string, headers: Headers): void {
  respondBytes(exchange, status, Buffer.from(text), headers);
}

/** Answers with these bytes as the complete body. */
export function respondBytes(exchange: Exchange, status: number, body: Buffer, headers: Headers): void {
  const { response, request } = exchange;
  setHead(exchange, status, { ...headers, 'content-length': body.length });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  exchange.bytesSent += body.length;
  response.end(body);
}

/**
 * Sets the status and the headers, whose names are in lower case. Adds a Server-Timing entry with the time until the
 * first byte of the response, behind the entries of servers further away. Several values of a field are joined (RFC
 * 9110 §5.3), since HTTP/2 refuses some repeated fields.
 */
export function setHead(exchange: Exchange, status: number, headers: Headers): void {
  exchange.response.statusCode = status;
  for (const name in headers) {
    const value = headers[name]!;
    exchange.response.setHeader(name, Array.isArray(value) && name !== 'set-cookie' ? value.join(', ') : value);
  }
  // The worker of a page loader never sees Set-Cookie, even on responses from the network (docs/reference/wire.md).
  if (headers['set-cookie'] !== undefined) exchange.response.setHeader(CREDENTIALS_HEADER, 'set');
  const further = headers[timingHeader];
  exchange.response.setHeader(
    timingHeader,
    further === undefined ? exchange.timing() : [further, exchange.timing()].flat().join(', '),
  );
}

/**
 * Streams `source` as the body and counts it, then sends `trailers`. A client that leaves is no error. A source that
 * fails resets the response, since its headers were already sent.
 */
export async function sendBody(exchange: Exchange, source: Readable, trailers?: () => RequestHeaders): Promise<void> {
  // Runs before the listener of the pipeline, which ends the response.
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
