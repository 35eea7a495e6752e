import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { errors, type Dispatcher } from 'undici';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import type { Exchange, Target } from '../../http/exchange.js';
import { forwardedHeaders, withoutHopByHop } from '../../http/forwarded_headers.js';
import { InterimRelay, maxInterimResponses } from '../../http/interim_response.js';
import { declaredLength, ReceivedBody, respondBodyFault } from '../../http/received_body.js';
import { refuseReplay } from '../../http/refuse_replay.js';
import { mayRepeat } from '../../http/repeat.js';
import { respondStatus, sendBody, setHead, SlowClient } from '../../http/respond.js';
import { createBalance, type Balance } from './balance.js';
import { tlsFault, failureReason, HealthCheck, probe } from './health_check.js';
import { UpstreamMember } from './member.js';
import type { UpstreamOptions } from '../../schema/upstream.js';
import { loadResponseParser } from './response_parser.js';
import { SecretsSource } from './secrets.js';

export interface UpstreamStatus {
  origin: string;
  /** Whether the latest attempt to reach it succeeded, by a request or a check */
  up: boolean;
  /** Time since which that is so, ISO 8601; absent until it was checked */
  since?: string;
  /** Why the server is down */
  reason?: string;
  active: number;
  /** Requests that wait for one of its connections */
  waiting: number;
  requests: number;
  failures: number;
  /** Requests that got 503 because there was no room */
  refused: number;
  /** Requests that lost their connection to others because their clients did not do their part */
  ended: number;
}

/** Time in milliseconds for which an observation of a server need not be repeated */
const freshMs = 1_000;
/** Bytes to read ahead for a client that may not want them, beside one piece of the socket */
const readAheadBytes = 16 * 1024;
/** Pauses before a server is asked again for the same request, in milliseconds */
const retryPauses: BackOff = { first: 50, longest: 1_000, jitter: true };

/** Proxies requests to the servers of one route. Both directions stream, without keeping bodies in memory. */
export class UpstreamGroup implements Target {
  readonly #options: UpstreamOptions;
  readonly #maxBodyBytes: number;
  readonly #log: Logger;
  readonly #secrets: SecretsSource;
  readonly #members: UpstreamMember[];
  readonly #balance: Balance;
  #healthCheck: HealthCheck | undefined;

  private constructor(options: UpstreamOptions, secrets: SecretsSource, maxBodyBytes: number, log: Logger) {
    this.#options = options;
    this.#maxBodyBytes = maxBodyBytes;
    this.#log = log;
    this.#secrets = secrets;
    this.#members = options.to.map((origin) => new UpstreamMember(origin, options, secrets));
    this.#balance = createBalance(options.balance);
  }

  /** Opens the group, without a connection yet. @throws CertificateError when a file of `tls` cannot be used */
  static async open(options: UpstreamOptions, maxBodyBytes: number, log: Logger): Promise<UpstreamGroup> {
    await loadResponseParser();
    return new UpstreamGroup(options, await SecretsSource.open(options.tls, log), maxBodyBytes, log);
  }

  /** Checks every server once. A gateway starts even if its upstreams are down, with a warning. */
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
    this.#secrets.close();
    await Promise.all(this.#members.map((member) => member.close()));
  }

  /** Checks servers without a health check, so that the status is true even without requests. */
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
      waiting: member.places.waiting,
      requests: member.requests,
      failures: member.failures,
      refused: member.refused,
      ended: member.places.ended,
    }));
  }

  async handle(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    if ((declaredLength(request) ?? 0) > this.#maxBodyBytes) {
      respondStatus(exchange, 413);
      return;
    }
    if (refuseReplay(exchange)) return;
    const body = new ReceivedBody(exchange, this.#maxBodyBytes);
    const tried = new Set<UpstreamMember>();
    for (let attempt = 0; ; attempt++) {
      const member = this.#choose(tried, exchange);
      const failure = await this.#ask(member, exchange, body);
      if (!failure) return;
      tried.add(member);
      if (attempt >= this.#options.retries || !mayAskAgain(request.method, body, failure.error)) {
        respondFailure(exchange, body, failure.error);
        return;
      }
      // Another server may succeed at once; the same one needs a pause.
      if (tried.size >= this.#members.length)
        await setTimeout(backOffMs(attempt, retryPauses), undefined, { signal: exchange.signal }).catch(
          () => undefined,
        );
      if (exchange.aborted) return;
    }
  }

  /** Asks one server. Resolves with undefined when the client has its response, or has left. */
  async #ask(member: UpstreamMember, exchange: Exchange, body: ReceivedBody): Promise<{ error: unknown } | undefined> {
    try {
      // undici sends the headers only with the beginning of the body, so until then the request needs no connection.
      await body.begin();
      const refusal = await member.places.wait(exchange);
      if (refusal) {
        if (refusal !== 'left') this.#refuse(member, exchange);
        return undefined;
      }
      await this.#forward(exchange, member, await body.open());
      return undefined;
    } catch (error) {
      if (exchange.aborted || error instanceof SlowClient) return undefined;
      exchange.trace?.failed(error);
      if (!isClientFault(body, error)) {
        member.failed(failureReason(error), Date.now());
        this.#log.warn({ upstream: member.origin, error: errorMessage(error) }, 'upstream failed');
      }
      if (exchange.response.headersSent) {
        // The reset tells the client that the body is incomplete.
        exchange.response.destroy(error as Error);
        return undefined;
      }
      return { error };
    } finally {
      member.places.leave(exchange);
    }
  }

  async #forward(exchange: Exchange, member: UpstreamMember, body: AsyncIterable<Buffer> | undefined): Promise<void> {
    const { request } = exchange;
    exchange.trace?.passOn(member.server);
    const headers = forwardedHeaders(request, exchange.trace?.fields);
    const interim = new InterimRelay(exchange);
    member.requests += 1;
    const response = await member.request({
      method: request.method,
      path: exchange.pathname + exchange.search,
      headers: this.#options.host === 'upstream' ? { ...headers, host: member.url.host } : headers,
      // undici accepts any async iterable, but its types name only some.
      body: (body as Readable | undefined) ?? null,
      signal: exchange.signal,
      highWaterMark: readAheadBytes,
      onInfo: ({ statusCode, headers }) => {
        if (!interim.pass(statusCode, headers)) throw new Error(`more than ${maxInterimResponses} interim responses`);
      },
    });
    try {
      if (response.statusCode < 200 || response.statusCode > 599)
        throw new Error(`it answered with the status ${response.statusCode}`);
      setHead(exchange, response.statusCode, withoutHopByHop(response.headers));
    } catch (error) {
      // An unread body would keep the connection busy.
      response.body.on('error', () => undefined).destroy();
      throw error;
    }
    member.observe({ up: true }, Date.now());
    const onRead = (): void => member.places.leave(exchange);
    if (!(await giveBody(exchange, response, onRead))) await sendBody(exchange, response.body, () => response.trailers);
    member.succeeded(Date.now());
  }

  /** Answers 503: there is no room for more requests, of this client or of all. */
  #refuse(member: UpstreamMember, exchange: Exchange): void {
    member.refused += 1;
    respondStatus(exchange, 503, { 'retry-after': '1' });
  }

  /** Chooses an upstream that did not fail lately, was not tried yet and has room. If all are down, chooses any. */
  #choose(tried: ReadonlySet<UpstreamMember>, exchange: Exchange): UpstreamMember {
    const now = Date.now();
    const fresh = this.#members.filter((member) => !tried.has(member));
    const eligible = fresh.filter((member) => member.isEligible(now));
    // A client stays with its server even if it must wait there.
    const free =
      this.#options.balance === 'client_address' ? [] : eligible.filter((member) => member.places.hasRoomFor(exchange));
    const candidates = [free, eligible, fresh, this.#members].find((list) => list.length > 0);
    return this.#balance(candidates ?? this.#members, exchange.request.remoteAddress);
  }
}

/**
 * Lets the body go past the response, if it may. Calls `onRead` once it was read, which can be long before the client has it.
 * Resolves with false when the response has to send the body.
 */
async function giveBody(
  exchange: Exchange,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  onRead: () => void,
): Promise<boolean> {
  const { taker } = exchange.response;
  // RFC 9110 §6.4.1: these have no body.
  if (!taker || statusCode === 204 || statusCode === 304) return false;
  const field = headers['content-length'];
  const length = typeof field === 'string' && /^\d{1,15}$/.test(field) ? Number(field) : undefined;
  body.once('end', onRead);
  const taken = await taker.takeStream(exchange, body, length);
  body.off('end', onRead);
  return taken;
}

/** Health is unknown only during start-up. */
function describeHealth({ health }: UpstreamMember): Pick<UpstreamStatus, 'up' | 'since' | 'reason'> {
  if (!health) return { up: false, reason: 'not tried yet' };
  const since = new Date(health.since).toISOString();
  return health.up ? { up: true, since } : { up: false, since, reason: health.reason };
}

/**
 * Returns whether a request may be sent again. A body that was sent once is gone. A request that never reached a server
 * can always be repeated.
 */
function mayAskAgain(method: string, body: ReceivedBody, error: unknown): boolean {
  if (isTimeout(error) || isClientFault(body, error)) return false;
  return mayRepeat(method, !body.started, neverSent(error) ? 'unprocessed' : 'unknown');
}

function neverSent(error: unknown): boolean {
  const code = systemErrorCode(error) ?? '';
  return (
    ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT'].includes(code) ||
    tlsFault(code) !== undefined
  );
}

function isTimeout(error: unknown): boolean {
  return error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError;
}

/** Returns whether the client caused the error, which then tells nothing about the upstream. */
function isClientFault(body: ReceivedBody, error: unknown): boolean {
  return (
    error === body.failure ||
    error instanceof errors.RequestContentLengthMismatchError ||
    error instanceof errors.InvalidArgumentError
  );
}

function respondFailure(exchange: Exchange, body: ReceivedBody, error: unknown): void {
  if (respondBodyFault(exchange, error)) return;
  if (isClientFault(body, error)) respondStatus(exchange, 400);
  else respondStatus(exchange, isTimeout(error) || error instanceof errors.ConnectTimeoutError ? 504 : 502);
}
