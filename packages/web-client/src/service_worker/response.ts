import type { ResponseHead } from '../protocol/index.js';
import type { PageHints } from './page_hints.js';

/** Name of the Server-Timing entry that marks responses of the page session */
export const TIMING_NAME = 'sheaf-webtransport';

// Fetch standard, "null body status"
const NULL_BODY = new Set([204, 205, 304]);

/**
 * Returns the content codings that this browser can decode, since it does not decode the responses of a worker itself.
 */
export function supportedEncodings(): string[] {
  const candidates = [
    ['br', 'brotli'],
    ['gzip', 'gzip'],
  ] as const;
  return candidates.filter(([, format]) => canDecompress(format)).map(([coding]) => coding);
}

/**
 * Converts a response for a page: removes the content coding, and adds a Server-Timing entry with the time that its
 * head took.
 * @throws TypeError for a content coding that was not requested
 */
export function toResponse(
  method: string,
  head: ResponseHead,
  body: ReadableStream<Uint8Array>,
  waitedMs: number,
): Response {
  const headers = new Headers(head.headers.map(([name, value]): [string, string] => [name, value]));
  headers.append('server-timing', `${TIMING_NAME};dur=${waitedMs.toFixed(1)};desc="page session"`);
  const init = { status: head.status, headers };
  if (NULL_BODY.has(head.status) || method === 'HEAD') {
    // Reads to the end instead of canceling, so that the stream closes in order.
    body.pipeTo(new WritableStream()).catch(() => undefined);
    return new Response(null, init);
  }
  const coding = headers.get('content-encoding')?.toLowerCase() ?? 'identity';
  if (coding === 'identity') return new Response(body as ReadableStream<BufferSource>, init);
  const format = { br: 'brotli', gzip: 'gzip' }[coding];
  if (format === undefined || !canDecompress(format)) {
    void body.cancel();
    throw new TypeError(`content coding ${coding} was not asked for`);
  }
  headers.delete('content-encoding');
  headers.delete('content-length');
  const plain = (body as ReadableStream<BufferSource>).pipeThrough(
    new DecompressionStream(format as CompressionFormat),
  );
  return new Response(plain, init);
}

/** Returns the response; if it is an HTML document, `hints` scans it while it passes. */
export function observed(response: Response, hints: PageHints | undefined): Response {
  if (hints === undefined || response.body === null || !isHtml(response.headers)) return response;
  const { status, statusText, headers } = response;
  return new Response(hints.observe(response.body) as ReadableStream<BufferSource>, { status, statusText, headers });
}

function isHtml(headers: Headers): boolean {
  return /^text\/html\s*(;|$)/i.test(headers.get('content-type') ?? '');
}

function canDecompress(format: string): boolean {
  try {
    new DecompressionStream(format as CompressionFormat);
    return true;
  } catch {
    return false;
  }
}
