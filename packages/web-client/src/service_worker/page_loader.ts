import type { RequestHead } from '../protocol/index.js';
import { CredentialsNeeded, StreamRefused, exchange, type ExchangeObserver } from './exchange.js';
import { SessionUnavailable, sleep, type GatewaySession } from './gateway_session.js';
import type { HttpCache, Loaded } from './http_cache.js';
import type { Load, LoadLog } from './load_log.js';
import { requestHead, type Visitor } from './request_head.js';
import type { Asker, Place, RequestOrder } from './request_order.js';
import { observed, toResponse } from './response.js';
import type { VisitorCredentials } from './visitor_credentials.js';

// Refusals end once the gateway has answered other requests, which takes less time than this.
const REFUSAL_PAUSES_MS = [20, 60, 180, 540];
// Idempotent methods (RFC 9110 §9.2.2), without those that pages use to change something on purpose
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The parts of a {@link PageLoader} */
export interface PageLoaderParts {
  readonly session: GatewaySession;
  readonly log: LoadLog;
  readonly visitor: Visitor;
  readonly order: RequestOrder;
  readonly credentials: VisitorCredentials;
  readonly cache: HttpCache;
  readonly network: (request: Request) => Promise<Response>;
}

/** While a request without credentials was being answered, the visitor turned out to have some. */
class CredentialsFound extends Error {
  override readonly name = 'CredentialsFound';
}

/** Answers a page's requests from the cache, over the page session, or by plain fetch when that is impossible. */
export class PageLoader {
  constructor(private readonly parts: PageLoaderParts) {}

  async respond(request: Request, asker: Asker): Promise<Response> {
    const { order, log, visitor, cache } = this.parts;
    const place = order.place(request, asker);
    const load = log.start(request, place.priority);
    const head = requestHead(request, visitor, place.priority);
    let loaded = false;
    const response = await cache.respond(request, head.headers, (conditions) => {
      loaded = true;
      return this.load(request, { ...head, headers: [...head.headers, ...conditions] }, load, place);
    });
    if (!loaded) {
      place.release();
      load.transport = 'cache';
      log.head(load, response.status);
      log.end(load, 'done');
    }
    return observed(response, place.hints);
  }

  private async load(
    request: Request,
    head: Omit<RequestHead, 'credentials'>,
    load: Load,
    place: Place,
  ): Promise<Loaded> {
    const { credentials } = this.parts;
    if (credentials.areNeededFor(request)) {
      place.release();
      return this.viaNetwork(request, load);
    }
    let known = credentials.known(request);
    for (let refusals = 0, losses = 0; ;) {
      try {
        return {
          response: await this.viaSession(request, { ...head, credentials: known }, load, place),
          storable: true,
        };
      } catch (error) {
        if (error instanceof CredentialsFound) {
          known = 'withheld';
          continue;
        }
        const untouched = !request.bodyUsed && !request.signal.aborted;
        if (error instanceof StreamRefused && untouched && refusals < REFUSAL_PAUSES_MS.length) {
          await sleep(REFUSAL_PAUSES_MS[refusals]!);
          refusals += 1;
          continue;
        }
        // Releases the places of attempts that never got a stream.
        place.release();
        const unsent = error instanceof SessionUnavailable || error instanceof StreamRefused;
        if (!untouched || !(unsent || REPEATABLE.has(request.method))) {
          this.parts.log.end(load, 'failed');
          throw error;
        }
        const forBrowser = error instanceof CredentialsNeeded;
        if (forBrowser) credentials.neededFor(request.url);
        // The session was lost meanwhile. Try a new session first, then the network.
        if (!unsent && !forBrowser && losses++ === 0) continue;
        return this.viaNetwork(request, load);
      }
    }
  }

  private async viaSession(request: Request, head: RequestHead, load: Load, place: Place): Promise<Response> {
    const { session, log, credentials } = this.parts;
    const stream = await session.openStream();
    load.attempts += 1;
    const areNone = head.credentials !== 'none' || credentials.areNone(request);
    let answered = false;
    const observer: ExchangeObserver = {
      received: (bytes) => {
        load.bytes += bytes;
      },
      ended: (error) => {
        place.release();
        if (answered) log.end(load, error === undefined ? 'done' : 'failed');
      },
    };
    const { signal } = request;
    const answer = await exchange(stream, head, { body: await bodyOf(request), signal }, observer);
    if (!(await areNone)) {
      answer.body.cancel().catch(() => undefined);
      throw new CredentialsFound();
    }
    answered = true;
    log.head(load, answer.head.status);
    const waitedMs = load.headAt! - load.startedAt;
    return toResponse(request.method, answer.head, answer.body, waitedMs);
  }

  /** Loads over the network. The browser also caches what it loads itself. */
  private async viaNetwork(request: Request, load: Load): Promise<Loaded> {
    const { log, network, credentials, cache } = this.parts;
    load.transport = 'network';
    try {
      const response = await network(request);
      credentials.observe(response);
      if (response.headers.has('clear-site-data')) await cache.clear();
      log.head(load, response.status);
      log.end(load, 'done');
      return { response, storable: false };
    } catch (error) {
      log.end(load, 'failed');
      throw error;
    }
  }
}

/** Returns the body as a stream. Browsers without `Request.body` (Firefox) read it into a blob first. */
async function bodyOf(request: Request): Promise<ReadableStream<Uint8Array> | null> {
  const body = request.body as ReadableStream<Uint8Array> | null | undefined;
  if (body !== undefined) return body;
  if (request.method === 'GET' || request.method === 'HEAD') return null;
  return (await request.blob()).stream();
}
