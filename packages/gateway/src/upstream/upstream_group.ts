import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { errors, type Dispatcher } from 'undici';
import { errorMessage, systemErrorCode } from '../errors/user_error.js';
import type { Exchange, Target } from '../http/exchange.js';
import { forwardedHeaders, withoutHopByHop } from '../http/forwarded_headers.js';
import { BodyTooLarge, declaredLength, hasBody, limitedBody } from '../http/limited_body.js';
import { isIdempotent, isSafe } from '../http/methods.js';
import { respondStatus, sendBody, setHead } from '../http/respond.js';
import { createBalance, type Balance } from './balance.js';
import { readSecrets, type UpstreamSecrets } from './connector.js';
import { certificateFault, failureReason, HealthCheck, probe } from './health_check.js';
import { UpstreamMember } from './member.js';
import type { UpstreamOptions } from './options.js';

export interface UpstreamStatus {
  origin: string;
  /** What the last attempt to reach it showed, be it a request or a check. */
  up: boolean;
  /** Since when that is so, ISO 8601; absent until somebody looked. */
  since?: string;
  /** Why it is down. */
  reason?: string;
  active: number;
  requests: number;
  failures: number;
}

/** What was seen of a server this short a time ago need not be looked at again. */
const freshMs = 1_000;

/** The servers behind one route. Both directions stream; nothing is kept in memory. */
export class UpstreamGroup implements Target {
  readonly #options: UpstreamOptions;
  readonly #maxBodyBytes: number;
  readonly #log: Logger;
  readonly #members: UpstreamMember[];
  readonly #balance: Balance;
  #healthCheck: HealthCheck | undefined;

  private constructor(options: UpstreamOptions, secrets: UpstreamSecrets, maxBodyBytes: number, log: Logger) {
    this.#options = options;
    this.#maxBodyBytes = maxBodyBytes;
    this.#log = log;
    this.#members = options.to.map((origin) => new UpstreamMember(origin, options, secrets));
    this.#balance = createBalance(options.balance);
  }

  /** Opens no connection yet. @throws CertificateError when a file of `tls` cannot be used */
  static async open(options: UpstreamOptions, maxBodyBytes: number, log: Logger): Promise<UpstreamGroup> {
    return new UpstreamGroup(options, await readSecrets(options.tls), maxBodyBytes, log);
  }

  /** Asks every server once: a gateway starts although its upstreams are down, and says so. */
  async start(): Promise<string[]> {
    const { health } = this.#options;
    const warnings = await Promise.all(
      this.#members.map(async (member) => {
        const evidence = await probe(member, health);
        if (health) member.checked(evidence, Date.now());
        else member.observe(evidence, Date.now());
        return evidence.up ? undefined : `upstream ${member.origin} does not answer yet (${evidence.reason})`;
      }),
    );
    if (health) this.#healthCheck = new HealthCheck(this.#members, health, this.#log);
    return warnings.filter((warning) => warning !== undefined);
  }

  async close(): Promise<void> {
    this.#healthCheck?.stop();
    await Promise.all(this.#members.map((member) => member.close()));
  }

  /** Looks after the servers that no health check watches, so that the status is true when nobody sent requests. */
  async refresh(): Promise<void> {
    if (this.#healthCheck) return;
    const stale = this.#members.filter((member) => Date.now() - member.observedAt > freshMs);
    await Promise.all(stale.map(async (member) => member.observe(await probe(member, undefined), Date.now())));
  }

  status(): UpstreamStatus[] {
    return this.#members.map((member) => ({
      origin: member.origin,
      ...describeHealth(member),
      active: member.active,
      requests: member.requests,
      failures: member.failures,
    }));
  }

  async handle(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    if ((declaredLength(request) ?? 0) > this.#maxBodyBytes) {
      respondStatus(exchange, 413);
      return;
    }
    // RFC 8470 §5.2: a replayed request must not change anything.
    if (request.early && !isSafe(request.method)) {
      respondStatus(exchange, 425);
      return;
    }
    const tried = new Set<UpstreamMember>();
    const body = new ForwardedBody(exchange, this.#maxBodyBytes);
    for (let attempt = 0; ; attempt++) {
      const member = this.#choose(tried, request.remoteAddress);
      tried.add(member);
      try {
        await this.#forward(exchange, member, body);
        return;
      } catch (error) {
        if (exchange.aborted) return;
        if (exchange.response.headersSent) throw error;
        if (attempt < this.#options.retries && mayRepeat(request.method, body, error)) continue;
        this.#log.warn({ upstream: member.origin, error: errorMessage(error) }, 'upstream failed');
        respondStatus(exchange, statusFor(error));
        return;
      }
    }
  }

  /** An upstream that did not fail lately and was not tried; when all are down, any is better than none. */
  #choose(tried: ReadonlySet<UpstreamMember>, remoteAddress: string): UpstreamMember {
    const now = Date.now();
    const fresh = this.#members.filter((member) => !tried.has(member));
    const candidates = [fresh.filter((member) => member.isEligible(now)), fresh, this.#members].find((list) => list.length > 0);
    return this.#balance(candidates ?? this.#members, remoteAddress);
  }

  async #forward(exchange: Exchange, member: UpstreamMember, body: ForwardedBody): Promise<void> {
    const { request } = exchange;
    member.active += 1;
    member.requests += 1;
    try {
      const response = await member
        .request({
          method: request.method as Dispatcher.HttpMethod,
          path: exchange.pathname + exchange.search,
          headers: this.#options.host === 'upstream' ? { ...forwardedHeaders(request), host: member.url.host } : forwardedHeaders(request),
          body: body.open(),
          signal: exchange.signal,
        })
        .catch((error: unknown) => {
          if (!exchange.aborted && !(error instanceof BodyTooLarge)) member.failed(failureReason(error), Date.now());
          throw error;
        });
      member.succeeded(Date.now());
      setHead(exchange, response.statusCode, withoutHopByHop(response.headers));
      await sendBody(exchange, response.body);
    } finally {
      member.active -= 1;
    }
  }
}

/** Nobody looked yet only while the gateway starts. */
function describeHealth({ health }: UpstreamMember): Pick<UpstreamStatus, 'up' | 'since' | 'reason'> {
  if (!health) return { up: false, reason: 'not tried yet' };
  const since = new Date(health.since).toISOString();
  return health.up ? { up: true, since } : { up: false, since, reason: health.reason };
}

/** The request's body, which can be read once; remembers whether a server already got some of it. */
class ForwardedBody {
  readonly #exchange: Exchange;
  readonly #limit: number;
  started = false;

  constructor(exchange: Exchange, limit: number) {
    this.#exchange = exchange;
    this.#limit = limit;
  }

  /** undici takes any async iterable; its types name only some. */
  open(): Readable | null {
    return hasBody(this.#exchange.request) ? (this.#read() as unknown as Readable) : null;
  }

  async *#read(): AsyncGenerator<Buffer> {
    this.started = true;
    yield* limitedBody(this.#exchange.request.body, this.#limit);
  }
}

/** A body that left once is gone. A request that never reached a server can always be repeated. */
function mayRepeat(method: string, body: ForwardedBody, error: unknown): boolean {
  if (body.started || isTimeout(error)) return false;
  return isIdempotent(method) || neverSent(error);
}

function neverSent(error: unknown): boolean {
  const code = systemErrorCode(error) ?? '';
  return ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT'].includes(code) || certificateFault(code) !== undefined;
}

function isTimeout(error: unknown): boolean {
  return error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError;
}

function statusFor(error: unknown): number {
  if (error instanceof BodyTooLarge) return 413;
  return isTimeout(error) || error instanceof errors.ConnectTimeoutError ? 504 : 502;
}
