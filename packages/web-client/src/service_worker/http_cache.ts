import CachePolicy from 'http-cache-semantics';
import type { HeaderField } from '../protocol/index.js';

/** Header of a stored response with its policy and size, which pages never see */
const POLICY_HEADER = 'sheaf-cache-policy';
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;
const MAX_TOTAL_BYTES = 256 * 1024 * 1024;
const MAX_RESPONSES = 2_000;
/** Number of stores between two checks of these bounds */
const TRIM_EVERY = 50;
/** Server-Timing entry that marks content from the cache */
const CACHE_TIMING = 'sheaf-cache;desc="page cache"';
/** Headers that make a request a validation of the page's own (RFC 9110 §13.1) */
const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range', 'range'];

/** Result of a load; `storable` unless the browser stores it itself */
export interface Loaded {
  readonly response: Response;
  readonly storable: boolean;
}

/** Loads the request with these additional headers. */
export type Load = (conditions: readonly HeaderField[]) => Promise<Loaded>;

/**
 * An HTTP cache (RFC 9111) for content from the page session, which the browser's own cache never sees.
 * `http-cache-semantics` decides what may be stored, for how long, and how it is validated.
 */
export class HttpCache {
  private stores = 0;

  constructor(private readonly open: () => Promise<Cache>) {}

  /**
   * Returns the response from the store, validated if needed, or the result of `load`. `headers` are the request's
   * headers as they are sent.
   */
  async respond(request: Request, headers: readonly HeaderField[], load: Load): Promise<Response> {
    if (!isCacheable(request)) return this.passOn(request, load);
    const asked = { url: request.url, method: request.method, headers: Object.fromEntries(headers) };
    const entry = request.cache === 'reload' ? undefined : await this.find(request.url);
    if (entry === undefined) return this.loadAnew(asked, load);
    if (isUsable(entry, asked, request.cache)) return shown(entry.response.body, entry.policy, CACHE_TIMING);
    const { response, storable } = await load(Object.entries(conditionsOf(entry.policy, asked)));
    if (response.status !== 304) return storable ? this.keep(asked, response) : response;
    const { policy, modified } = entry.policy.revalidatedPolicy(asked, policyResponse(response));
    if (modified) return this.loadAnew(asked, load);
    const timing = response.headers.get('server-timing') ?? '';
    return this.store(asked.url, entry.response.body, policy, `${timing}, ${CACHE_TIMING}`);
  }

  /** Forgets everything, as `Clear-Site-Data` demands. */
  async clear(): Promise<void> {
    await this.open()
      .then(async (cache) => Promise.all((await cache.keys()).map((key) => cache.delete(key))))
      .catch(unavailable);
  }

  private async passOn(request: Request, load: Load): Promise<Response> {
    const { response } = await load([]);
    // RFC 9111 §4.4: a change of the resource invalidates its stored response.
    const isSafe = request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS';
    if (!isSafe && response.status < 400)
      await this.open()
        .then((cache) => cache.delete(request.url, { ignoreVary: true }))
        .catch(unavailable);
    return response;
  }

  private async loadAnew(asked: Asked, load: Load): Promise<Response> {
    const { response, storable } = await load([]);
    return storable ? this.keep(asked, response) : response;
  }

  private keep(asked: Asked, response: Response): Response {
    const policy = new CachePolicy(asked, policyResponse(response), { shared: false });
    if (!isStorable(response, policy)) return response;
    return this.store(asked.url, response.body, policy, response.headers.get('server-timing') ?? '');
  }

  private async find(url: string): Promise<Entry | undefined> {
    const response = await this.open()
      .then((cache) => cache.match(url, { ignoreVary: true }))
      .catch(unavailable);
    const stored = response && storedWith(response);
    return response && stored && { response, policy: stored.policy };
  }

  /** Stores a response while the page reads it. A page never waits for the store, nor fails because of it. */
  private store(url: string, body: ReadableStream<Uint8Array> | null, policy: CachePolicy, timing: string): Response {
    const [forPage, forStore] = body?.tee() ?? [null, null];
    const headers = new Headers(policy.responseHeaders() as Record<string, string>);
    const bytes = Number(headers.get('content-length') ?? MAX_RESPONSE_BYTES);
    headers.set(POLICY_HEADER, encodeURIComponent(JSON.stringify({ policy: policy.toObject(), bytes })));
    const limited = forStore?.pipeThrough(atMost(MAX_RESPONSE_BYTES)) ?? null;
    void this.put(url, new Response(limited as ReadableStream<BufferSource> | null, { headers })).catch(unavailable);
    return shown(forPage, policy, timing);
  }

  private async put(url: string, response: Response): Promise<void> {
    const cache = await this.open();
    await cache.put(url, response);
    await this.trim(cache);
  }

  /** Drops the oldest responses beyond the bounds. */
  private async trim(cache: Cache): Promise<void> {
    this.stores += 1;
    if (this.stores % TRIM_EVERY !== 0) return;
    let bytes = 0;
    for (const [index, key] of [...(await cache.keys())].reverse().entries()) {
      const response = await cache.match(key);
      bytes += (response && storedWith(response)?.bytes) ?? MAX_RESPONSE_BYTES;
      if (index >= MAX_RESPONSES || bytes > MAX_TOTAL_BYTES) await cache.delete(key);
    }
  }
}

interface Entry {
  readonly policy: CachePolicy;
  readonly response: Response;
}

interface Asked {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
}

function isCacheable(request: Request): boolean {
  return (
    request.method === 'GET' && request.cache !== 'no-store' && !CONDITIONS.some((name) => request.headers.has(name))
  );
}

function isUsable({ policy }: Entry, asked: Asked, mode: RequestCache): boolean {
  if (mode === 'force-cache') return true;
  return mode !== 'no-cache' && policy.satisfiesWithoutRevalidation(asked);
}

function isStorable({ status, headers }: Response, policy: CachePolicy): boolean {
  // A worker cannot see cookies, so it cannot distinguish such variants.
  const varies = /\b(cookie|authorization)\b|\*/i.test(headers.get('vary') ?? '');
  const endless = headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const small = Number(headers.get('content-length') ?? 0) <= MAX_RESPONSE_BYTES;
  const useful = policy.timeToLive() > 0 || headers.has('etag') || headers.has('last-modified');
  return status === 200 && !varies && !endless && small && useful && policy.storable();
}

/** Returns the headers that ask whether the stored response is still valid. */
function conditionsOf(policy: CachePolicy, asked: Asked): Record<string, string> {
  const headers = policy.revalidationHeaders(asked) as Record<string, string>;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => CONDITIONS.includes(name)));
}

function policyResponse({ status, headers }: Response): CachePolicy.HttpResponse {
  return { status, headers: Object.fromEntries(headers) };
}

function shown(body: ReadableStream<Uint8Array> | null, policy: CachePolicy, timing: string): Response {
  const headers = new Headers(policy.responseHeaders() as Record<string, string>);
  headers.set('server-timing', timing);
  return new Response(body as ReadableStream<BufferSource> | null, { headers });
}

/**
 * Ignores the error: browsers deny storage in private windows and when the disk is full. Then every load is a first
 * one.
 */
function unavailable(): undefined {
  return undefined;
}

/** Returns undefined for entries of another version of the worker, or of a page's script. */
function storedWith(response: Response): { policy: CachePolicy; bytes: number } | undefined {
  try {
    const text = decodeURIComponent(response.headers.get(POLICY_HEADER) ?? '');
    const { policy, bytes } = JSON.parse(text) as { policy: CachePolicy.CachePolicyObject; bytes: number };
    return { policy: CachePolicy.fromObject(policy), bytes };
  } catch {
    return undefined;
  }
}

/** Limits a stream: fails when more than `limit` bytes pass. */
function atMost(limit: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > limit) controller.error(new RangeError(`more than ${limit} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
