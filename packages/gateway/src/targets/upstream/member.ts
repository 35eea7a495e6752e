import { Pool, type Dispatcher } from 'undici';
import type { NextServer } from '../../http/request_trace.js';
import { Places } from '../../slow_clients/places.js';
import { createConnector, type UpstreamConnector } from './connector.js';
import type { UpstreamOptions } from '../../schema/upstream.js';
import type { SecretsSource } from './secrets.js';

/** Number of failed connections in a row after which a server counts as down */
const failuresUntilDown = 3;
/** Time in milliseconds for which a server that is down gets no requests while others are up */
const downMs = 5_000;

/** Result of an attempt to reach a server */
export type Evidence = { up: true } | { up: false; reason: string };

/** The known health of a server */
export type Health = Evidence & {
  /** Time since which it has this health, as far as it was checked; Unix time in milliseconds */
  since: number;
};

/** Returns the server that a URL without a path names. */
function serverAt({ origin: name, protocol, hostname, port }: URL): NextServer {
  const scheme = protocol === 'https:' ? 'https' : 'http';
  const address = hostname.replace(/^\[|\]$/g, '');
  const standard = scheme === 'https' ? 443 : 80;
  return { name, scheme, address, port: port === '' ? standard : Number(port), httpVersion: '1.1' };
}

/** One server of a route, with its connections and its known health */
export class UpstreamMember {
  readonly origin: string;
  readonly url: URL;
  readonly server: NextServer;
  readonly connector: UpstreamConnector;
  /** Requests in flight, and requests that wait for a place */
  readonly places: Places;
  requests = 0;
  failures = 0;
  refused = 0;
  readonly #pool: Pool;
  #failuresInARow = 0;
  #downUntil = 0;
  /** Whether the latest active check failed */
  #checkedDown = false;
  #health: Health | undefined;
  #observedAt = 0;

  constructor(url: URL, options: UpstreamOptions, secrets: SecretsSource) {
    this.url = url;
    this.origin = url.origin;
    this.server = serverAt(url);
    this.connector = createConnector(url, options, secrets);
    this.places = new Places(options.connections, { queue: options.queue, queueMs: options.queue_timeout });
    this.#pool = new Pool(url, {
      // One more connection than requests may use, for the health check
      connections: options.connections + 1,
      headersTimeout: options.response_timeout,
      bodyTimeout: options.idle_timeout ?? 0,
      connect: this.connector.connect,
    });
  }

  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    // `servername` is documented for a dispatch, but its type lacks it.
    return this.#pool.request({ ...options, servername: this.connector.name } as Dispatcher.RequestOptions);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  /** Number of requests in flight */
  get active(): number {
    return this.places.count;
  }

  /** Health; undefined until it was checked */
  get health(): Health | undefined {
    return this.#health;
  }

  /** Time when `health` was last confirmed; Unix time in milliseconds */
  get observedAt(): number {
    return this.#observedAt;
  }

  /**
   * Returns whether the server gets requests while others could. A server that failed gets another chance after a
   * while.
   */
  isEligible(now: number): boolean {
    return !this.#checkedDown && now >= this.#downUntil;
  }

  /** Records the result of an attempt for the status. Requests follow `isEligible`. */
  observe(evidence: Evidence, now: number): void {
    const since = this.#health?.up === evidence.up ? this.#health.since : now;
    this.#health = { ...evidence, since };
    this.#observedAt = now;
  }

  succeeded(now: number): void {
    this.#failuresInARow = 0;
    this.#downUntil = 0;
    if (!this.#checkedDown) this.observe({ up: true }, now);
  }

  failed(reason: string, now: number): void {
    this.failures += 1;
    this.#failuresInARow += 1;
    this.observe({ up: false, reason }, now);
    if (this.#failuresInARow >= failuresUntilDown) this.#downUntil = now + downMs;
  }

  /** Records the result of an active check. Returns whether it changed anything. */
  checked(evidence: Evidence, now: number): boolean {
    const changed = this.#checkedDown === evidence.up;
    this.#checkedDown = !evidence.up;
    if (evidence.up) this.succeeded(now);
    else this.observe(evidence, now);
    return changed;
  }
}
