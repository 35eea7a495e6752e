import { realpath } from 'node:fs/promises';
import { extname, sep } from 'node:path';
import { Readable } from 'node:stream';
import send, { type SendResult } from '@fastify/send';
import { contentType } from 'mime-types';
import type { Exchange, Target } from '../http/exchange.js';
import { respondStatus, sendBody, setHead } from '../http/respond.js';
import { acceptedEncodings, type PrecompressedEncoding } from './encodings.js';
import type { FilesOptions } from './options.js';

/** Large enough that a big download costs few reads, small enough for many downloads at one time. */
const readBytes = 256 * 1024;

/** The file is not inside the served directory: a symbolic link leads out of it. */
class OutsideRoot extends Error {}

/**
 * Serves a directory. Ranges, validators and conditions are those of @fastify/send: a request for
 * several ranges gets the whole file (RFC 9110 §14.2 leaves that to the server).
 */
export class StaticFiles implements Target {
  readonly #options: FilesOptions;
  #root: Promise<string> | undefined;

  constructor(options: FilesOptions) {
    this.#options = options;
  }

  async handle(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      respondStatus(exchange, 405, { allow: 'GET, HEAD' });
      return;
    }
    if (!this.#options.hidden && hasHiddenSegment(exchange.rest)) {
      respondStatus(exchange, 404);
      return;
    }
    const path = exchange.rest.endsWith('/') ? exchange.rest + encodeURIComponent(this.#options.index) : exchange.rest;
    const encoded = await this.#findEncoded(exchange, path);
    if (encoded) {
      await answer(exchange, encoded.result, path, encoded.encoding);
      return;
    }
    await answer(exchange, await this.#send(exchange, path), path);
  }

  /** The best precompressed form that exists and that the client accepts. */
  async #findEncoded(exchange: Exchange, path: string): Promise<{ result: SendResult; encoding: PrecompressedEncoding } | undefined> {
    if (!this.#options.precompressed) return undefined;
    for (const encoding of acceptedEncodings(exchange.request.headers, path)) {
      const result = await this.#send(exchange, path + encoding.extension);
      if (result.type === 'file') return { result, encoding };
      discard(result);
    }
    return undefined;
  }

  async #send(exchange: Exchange, path: string): Promise<SendResult> {
    const root = await (this.#root ??= realpath(this.#options.root));
    // The library reads nothing of the request but its method and headers.
    const request = exchange.request as unknown as Parameters<typeof send>[0];
    return send(request, path, {
      root,
      index: false,
      dotfiles: 'allow',
      contentType: false,
      maxAge: this.#options.max_age,
      highWaterMark: readBytes,
      onFile: async (file) => {
        const real = await realpath(file);
        if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) throw new OutsideRoot(real);
      },
    }).catch((error: unknown): SendResult => {
      // The same answer as for a file that is not there: what lies outside is nobody's business.
      if (error instanceof OutsideRoot) return notFound();
      throw error;
    });
  }
}

function notFound(): SendResult {
  return { type: 'error', statusCode: 404, headers: {}, stream: Readable.from([]), metadata: { error: new OutsideRoot() } };
}

async function answer(exchange: Exchange, result: SendResult, path: string, encoding?: PrecompressedEncoding): Promise<void> {
  if (result.type === 'directory') {
    discard(result);
    redirectToDirectory(exchange);
    return;
  }
  if (result.type === 'error') {
    discard(result);
    const range = result.headers['Content-Range'];
    respondStatus(exchange, publicStatus(result.statusCode), range === undefined ? {} : { 'content-range': range });
    return;
  }
  const headers: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(result.headers)) headers[name.toLowerCase()] = value;
  if (result.statusCode !== 304) headers['content-type'] = contentType(extname(path)) || 'application/octet-stream';
  if (encoding) headers['content-encoding'] = encoding.name;
  if (encoding || isCompressible(path)) headers['vary'] = 'accept-encoding';
  headers['x-content-type-options'] = 'nosniff';
  setHead(exchange, result.statusCode, headers);
  if (exchange.request.method === 'HEAD' || result.statusCode === 304) {
    discard(result);
    exchange.response.end();
    return;
  }
  await sendBody(exchange, result.stream);
}

/** The library hides a path that leaves the root behind 403; one answer for all of them tells less. */
function publicStatus(status: number): number {
  return status === 403 ? 404 : status;
}

function redirectToDirectory(exchange: Exchange): void {
  // A path that starts with two slashes would be read as another host's name.
  const path = exchange.pathname.replace(/^\/+/, '/');
  respondStatus(exchange, 308, { location: `${path}/${exchange.search}` });
}

function isCompressible(path: string): boolean {
  return acceptedEncodings({ 'accept-encoding': '*' }, path).length > 0;
}

function discard(result: SendResult): void {
  result.stream.on('error', () => undefined).destroy();
}

/** RFC 8615 keeps `.well-known` public; every other name with a leading dot is hidden. */
function hasHiddenSegment(path: string): boolean {
  return path.split(/\/|%2f|%5c/i).some((segment) => /^(\.|%2e)/i.test(segment) && segment !== '.well-known');
}
