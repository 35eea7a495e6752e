import type { RequestHead } from '../protocol/index.js';
import { StreamRefused, exchange, type ExchangeObserver } from './exchange.js';
import { SessionUnavailable, sleep, type GatewaySession } from './gateway_session.js';
import type { Load, LoadLog } from './load_log.js';
import { requestHead, type Visitor } from './request_head.js';
import type { Asker, Place, RequestOrder } from './request_order.js';
import { toResponse } from './response.js';

// Refusals end when the gateway has answered others; a page's requests take less than this.
const REFUSAL_PAUSES_MS = [20, 60, 180, 540];
// RFC 9110 §9.2.2, without those that pages use to change things on purpose.
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Answers a page's requests over the page session, or by plain fetch where that is impossible. */
export class PageLoader {
  constructor(
    private readonly session: GatewaySession,
    private readonly log: LoadLog,
    private readonly visitor: Visitor,
    private readonly order: RequestOrder,
    private readonly network: (request: Request) => Promise<Response>,
  ) {}

  async respond(request: Request, asker: Asker): Promise<Response> {
    const place = this.order.place(request, asker);
    const load = this.log.start(request, place.priority);
    const head = requestHead(request, this.visitor, place.priority);
    for (let refusals = 0, losses = 0; ; ) {
      try {
        return await this.viaSession(request, head, load, place);
      } catch (error) {
        const untouched = !request.bodyUsed && !request.signal.aborted;
        if (error instanceof StreamRefused && untouched && refusals < REFUSAL_PAUSES_MS.length) {
          await sleep(REFUSAL_PAUSES_MS[refusals]!);
          refusals += 1;
          continue;
        }
        // Of attempts that did not come to a stream.
        place.release();
        const unsent = error instanceof SessionUnavailable || error instanceof StreamRefused;
        if (!untouched || !(unsent || REPEATABLE.has(request.method))) {
          this.log.end(load, 'failed');
          throw error;
        }
        // The session was lost under way: a new one first, then the network.
        if (!unsent && losses++ === 0) continue;
        return this.viaNetwork(request, load);
      }
    }
  }

  private async viaSession(request: Request, head: RequestHead, load: Load, place: Place): Promise<Response> {
    const stream = await this.session.openStream();
    load.attempts += 1;
    let answered = false;
    const observer: ExchangeObserver = {
      received: (bytes) => {
        load.bytes += bytes;
      },
      ended: (error) => {
        place.release();
        if (answered) this.log.end(load, error === undefined ? 'done' : 'failed');
      },
    };
    const { signal } = request;
    const answer = await exchange(stream, head, { body: await bodyOf(request), signal }, observer);
    answered = true;
    this.log.head(load, answer.head.status);
    const waitedMs = load.headAt! - load.startedAt;
    return toResponse(request.method, answer.head, answer.body, { hints: place.hints, waitedMs });
  }

  private async viaNetwork(request: Request, load: Load): Promise<Response> {
    load.transport = 'network';
    try {
      const response = await this.network(request);
      this.log.head(load, response.status);
      this.log.end(load, 'done');
      return response;
    } catch (error) {
      this.log.end(load, 'failed');
      throw error;
    }
  }
}

/** The body as a stream; browsers without `Request.body` (Firefox) have it read into a blob first. */
async function bodyOf(request: Request): Promise<ReadableStream<Uint8Array> | null> {
  const body = request.body as ReadableStream<Uint8Array> | null | undefined;
  if (body !== undefined) return body;
  if (request.method === 'GET' || request.method === 'HEAD') return null;
  return (await request.blob()).stream();
}
