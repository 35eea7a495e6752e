import { createReadStream, type Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { extname, sep } from 'node:path';
import { Readable } from 'node:stream';
import send, { type FileSendResult, type SendResult } from '@fastify/send';
import { contentType } from 'mime-types';
import { headerValue, type Exchange, type Target } from '../http/exchange.js';
import { respondStatus, sendBody, setHead } from '../http/respond.js';
import { acceptedEncodings, isWorthCompressing, type PrecompressedEncoding } from './encodings.js';
import type { FilesOptions } from './options.js';
import { evaluatePreconditions, isRangeCurrent, validatorsOf, type Validators } from './preconditions.js';
import { SmallFiles } from './small_files.js';

/** Large enough that a big download costs few reads, small enough for many downloads at one time. */
const readBytes = 256 * 1024;

/** What was found for a request. */
interface Found {
  result: SendResult;
  /** Of a file. */
  validators?: Validators;
  /** The precompressed form that was found. */
  encoding?: PrecompressedEncoding;
}

/** The file is not inside the served directory: a symbolic link leads out of it. */
class OutsideRoot extends Error {}

/**
 * Serves a directory. Names and ranges are looked up by @fastify/send: a request for several ranges
 * gets the whole file (RFC 9110 §14.2 leaves that to the server). Validators and conditions are ours.
 */
export class StaticFiles implements Target {
  readonly #options: FilesOptions;
  readonly #smallFiles = new SmallFiles();
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
    const found = (await this.#findEncoded(exchange, path)) ?? (await this.#find(exchange, path));
    await this.#answer(exchange, found, path);
  }

  /** The best precompressed form that exists and that the client accepts. */
  async #findEncoded(exchange: Exchange, path: string): Promise<Found | undefined> {
    if (!this.#options.precompressed) return undefined;
    for (const encoding of acceptedEncodings(exchange.request.headers, path)) {
      const found = await this.#find(exchange, path, encoding);
      if (found.validators) return found;
    }
    return undefined;
  }

  /** Status and headers for the file, without its content. */
  async #find(exchange: Exchange, path: string, encoding?: PrecompressedEncoding): Promise<Found> {
    const { method, headers } = exchange.request;
    const root = await (this.#root ??= realpath(this.#options.root));
    // The library reads nothing of the request but its method and headers. Asked for HEAD it leaves
    // the content to us, who may have it in memory. Of the headers it gets the range alone, and that
    // once the file is known (RFC 9110 §14.2: it is defined for GET only).
    const request = { method: 'HEAD', headers: {} as { range?: string } };
    let validators: Validators | undefined;
    const result = await send(request as unknown as Parameters<typeof send>[0], path + (encoding?.extension ?? ''), {
      root,
      index: false,
      dotfiles: 'allow',
      contentType: false,
      etag: false,
      lastModified: false,
      maxAge: this.#options.max_age,
      onFile: async (file, stats) => {
        validators = validatorsOf(stats, encoding?.name, Date.now());
        const range = headerValue(headers, 'range');
        if (method === 'GET' && range !== undefined && isRangeCurrent(headers, validators)) request.headers.range = range;
        // In memory means that it was inside when it was read, and it is still the same file.
        if (this.#smallFiles.has(file, stats)) return;
        const real = await realpath(file);
        if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) throw new OutsideRoot(real);
      },
    }).catch((error: unknown): SendResult => {
      validators = undefined;
      // The same answer as for a file that is not there: what lies outside is nobody's business.
      if (error instanceof OutsideRoot) return notFound();
      throw error;
    });
    return { result, ...(validators && { validators }), ...(encoding && { encoding }) };
  }

  async #answer(exchange: Exchange, { result, validators, encoding }: Found, path: string): Promise<void> {
    const verdict = validators ? evaluatePreconditions(exchange.request.headers, validators) : 'proceed';
    if (verdict === 'failed') {
      respondStatus(exchange, 412);
      return;
    }
    switch (result.type) {
      case 'directory':
        redirectToDirectory(exchange);
        return;
      case 'error': {
        const range = result.headers['Content-Range'];
        respondStatus(exchange, publicStatus(result.statusCode), range === undefined ? {} : { 'content-range': range });
        return;
      }
      case 'file': {
        const headers = { ...fileHeaders(result, path, encoding), ...(validators && { etag: validators.etag, 'last-modified': validators.lastModified }) };
        if (verdict === 'not_modified') sendNotModified(exchange, headers);
        else await this.#sendFile(exchange, result, headers);
      }
    }
  }

  async #sendFile(exchange: Exchange, result: FileSendResult, headers: Record<string, string>): Promise<void> {
    const { path, stat } = result.metadata;
    if (exchange.request.method === 'HEAD') {
      setHead(exchange, result.statusCode, headers);
      exchange.response.end();
      return;
    }
    const { start, end } = rangeOf(result, stat);
    const content = await this.#smallFiles.read(path, stat);
    setHead(exchange, result.statusCode, headers);
    if (content) {
      exchange.bytesSent += end - start;
      exchange.response.end(content.subarray(start, end));
      return;
    }
    await sendBody(exchange, createReadStream(path, { start, end: Math.max(start, end - 1), highWaterMark: readBytes }));
  }
}

function fileHeaders(result: FileSendResult, path: string, encoding: PrecompressedEncoding | undefined): Record<string, string> {
  const headers: Record<string, string> = { 'x-content-type-options': 'nosniff' };
  for (const [name, value] of Object.entries(result.headers)) headers[name.toLowerCase()] = String(value);
  headers['content-type'] = contentType(extname(path)) || 'application/octet-stream';
  if (encoding) headers['content-encoding'] = encoding.name;
  if (encoding || isWorthCompressing(path)) headers['vary'] = 'accept-encoding';
  return headers;
}

/** RFC 9110 §15.4.5: what a cache needs to bring its entry up to date, and nothing about the content. */
function sendNotModified(exchange: Exchange, headers: Record<string, string>): void {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith('content-'));
  setHead(exchange, 304, Object.fromEntries(kept));
  exchange.response.end();
}

/** First byte, and the byte behind the last one, that the answer holds. */
function rangeOf(result: FileSendResult, { size }: Stats): { start: number; end: number } {
  const match = /^bytes (\d+)-(\d+)\//.exec(result.headers['Content-Range'] ?? '');
  return match ? { start: Number(match[1]), end: Number(match[2]) + 1 } : { start: 0, end: size };
}

function notFound(): SendResult {
  return { type: 'error', statusCode: 404, headers: {}, stream: Readable.from([]), metadata: { error: new OutsideRoot() } };
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

/** RFC 8615 keeps `.well-known` public; every other name with a leading dot is hidden. */
function hasHiddenSegment(path: string): boolean {
  return path.split(/\/|%2f|%5c/i).some((segment) => /^(\.|%2e)/i.test(segment) && segment !== '.well-known');
}
