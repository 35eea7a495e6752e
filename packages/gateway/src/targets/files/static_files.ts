import { realpath } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { contentType } from 'mime-types';
import { headerValue, type Exchange, type Target } from '../../http/exchange.js';
import { respondStatus, sendBody, setHead } from '../../http/respond.js';
import { acceptedEncodings, isWorthCompressing, type PrecompressedEncoding } from './encodings.js';
import { fileBody } from './file_body.js';
import { openInside, type OpenFile } from './open_file.js';
import type { FilesOptions } from '../../schema/files.js';
import { evaluatePreconditions, isRangeCurrent, validatorsOf } from './preconditions.js';
import { requestedRange, type Range } from './requested_range.js';
import { SmallFiles, type SmallFile } from './small_files.js';

/** The file for a request, either in memory or open */
interface Found {
  file: SmallFile | OpenFile;
  /** Coding of the precompressed form that was found */
  encoding?: PrecompressedEncoding;
}

/** Serves a directory. A request for several ranges gets the whole file. */
export class StaticFiles implements Target {
  readonly ignoresCredentials = true;
  readonly #options: FilesOptions;
  readonly #smallFiles = new SmallFiles();
  #root: string | undefined;

  constructor(options: FilesOptions) {
    this.#options = options;
  }

  async handle(exchange: Exchange): Promise<void> {
    const { request, rest } = exchange;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      respondStatus(exchange, 405, { allow: 'GET, HEAD' });
      return;
    }
    // The path is the prefix of the route alone. Relative links of its index need a slash at the end.
    if (rest === '/' && !exchange.pathname.endsWith('/')) {
      redirectToDirectory(exchange);
      return;
    }
    const name = fileName(rest);
    if (name === undefined) {
      respondStatus(exchange, 400);
      return;
    }
    if (leavesRoot(name) || (!this.#options.hidden && hasHiddenSegment(name))) {
      respondStatus(exchange, 404);
      return;
    }
    this.#root ??= await realpath(this.#options.root);
    const path = join(this.#root, name.endsWith('/') ? name + this.#options.index : name);
    const found = (await this.#findEncoded(exchange, path)) ?? (await this.#find(path));
    if (found === undefined) respondStatus(exchange, 404);
    else if (found !== 'directory') await this.#answer(exchange, found, path);
    // A directory in the place of an index is no file.
    else if (name.endsWith('/')) respondStatus(exchange, 404);
    else redirectToDirectory(exchange);
  }

  /** Finds the best precompressed form that exists and that the client accepts. */
  async #findEncoded(exchange: Exchange, path: string): Promise<Found | undefined> {
    if (!this.#options.precompressed) return undefined;
    for (const encoding of acceptedEncodings(exchange.request.headers, path)) {
      const found = await this.#find(path + encoding.extension);
      if (found && found !== 'directory') return { ...found, encoding };
    }
    return undefined;
  }

  async #find(path: string): Promise<Found | 'directory' | undefined> {
    const cached = this.#smallFiles.current(path);
    if (cached) return { file: cached };
    const opened = await openInside(this.#root!, path);
    if (!opened || opened === 'directory') return opened;
    try {
      const small = await this.#smallFiles.read(path, opened);
      if (!small) return { file: opened };
      await opened.handle.close();
      return { file: small };
    } catch (error) {
      await opened.handle.close();
      throw error;
    }
  }

  async #answer(exchange: Exchange, found: Found, path: string): Promise<void> {
    const { file } = found;
    let streams = false;
    try {
      const body = this.#head(exchange, found, path);
      if (!body) return;
      if ('content' in file) {
        const bytes = file.content.subarray(body.start, body.end);
        if (await exchange.response.taker?.takeBytes(exchange, bytes)) return;
        exchange.bytesSent += bytes.length;
        exchange.response.end(bytes);
        return;
      }
      streams = true;
      if (await exchange.response.taker?.takeFile(exchange, file.handle, body)) return;
      await sendBody(exchange, fileBody(file.handle, body, exchange.response));
    } finally {
      // A streamed body closes the file itself.
      if (!streams && 'handle' in file) await file.handle.close();
    }
  }

  /** Writes status and headers, and returns the bytes of the body. If there is no body, completes the response. */
  #head(exchange: Exchange, { file: { stats }, encoding }: Found, path: string): Range | undefined {
    const { method, headers } = exchange.request;
    const validators = validatorsOf(stats, encoding?.name, Date.now());
    const verdict = evaluatePreconditions(headers, validators);
    if (verdict === 'failed') {
      respondStatus(exchange, 412);
      return undefined;
    }
    const head: Record<string, string | number> = {
      'accept-ranges': 'bytes',
      'cache-control': `public, max-age=${Math.floor(this.#options.max_age / 1_000)}`,
      'x-content-type-options': 'nosniff',
      etag: validators.etag,
      'last-modified': validators.lastModified,
    };
    if (encoding || isWorthCompressing(path)) head['vary'] = 'accept-encoding';
    if (verdict === 'not_modified') {
      // RFC 9110 §15.4.5: 304 contains the fields that update a cache, and none about the content.
      setHead(exchange, 304, head);
      exchange.response.end();
      return undefined;
    }
    const isWanted = method === 'GET' && isRangeCurrent(headers, validators);
    const range = isWanted ? requestedRange(headerValue(headers, 'range'), stats.size) : undefined;
    if (range === 'unsatisfiable') {
      respondStatus(exchange, 416, { 'content-range': `bytes */${stats.size}` });
      return undefined;
    }
    const body = range ?? { start: 0, end: stats.size };
    head['content-type'] = contentType(extname(path)) || 'application/octet-stream';
    head['content-length'] = body.end - body.start;
    if (encoding) head['content-encoding'] = encoding.name;
    if (range) head['content-range'] = `bytes ${range.start}-${range.end - 1}/${stats.size}`;
    setHead(exchange, range ? 206 : 200, head);
    if (method === 'GET') return body;
    exchange.response.end();
    return undefined;
  }
}

/** Decodes the path; undefined when its percent-encoding is malformed. */
function fileName(rest: string): string | undefined {
  try {
    return decodeURIComponent(rest);
  } catch {
    return undefined;
  }
}

/** Returns whether the name has `..`. The path has no dot segments any more, except between encoded slashes. */
function leavesRoot(name: string): boolean {
  return name.split(/[/\\]/).includes('..');
}

function redirectToDirectory(exchange: Exchange): void {
  respondStatus(exchange, 308, { location: `${exchange.pathname}/${exchange.search}` });
}

/**
 * Returns whether a name is hidden. `.well-known` is public (RFC 8615); every other name with a leading dot is hidden.
 */
function hasHiddenSegment(name: string): boolean {
  return name.split(/[/\\]/).some((segment) => segment.startsWith('.') && segment !== '.well-known');
}
