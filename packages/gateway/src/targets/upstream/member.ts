import { Pool, type Dispatcher } from 'undici';
import { Places } from '../../slow_clients/places.js';
import { createConnector, type UpstreamConnector } from './connector.js';
import type { UpstreamOptions } from '../../schema/upstream.js';
import type { SecretsSource } from './secrets.js';

/** Failures of connections in a row after which a server counts as down. */
const failuresUntilDown = 3;
/** How long it then gets no requests while others are up. */
const downMs = 5_000;

/** What an attempt to reach a server showed. */
export type Evidence = { up: true } | { up: false; reason: string };

/** What is known of a server's health. */
export type Health = Evidence & {
  /** Since when it is so, as far as anybody looked; Unix time in milliseconds. */
  since: number;
};

/** One server behind a route, with its connections and what is known of its health. */
export class UpstreamMember {
  readonly origin: string;
  readonly url: URL;
  readonly connector: UpstreamConnector;
  /** The requests in flight, and those that wait to be. */
  readonly places: Places;
  requests = 0;
  failures = 0;
  refused = 0;
  readonly #pool: Pool;
  #failuresInARow = 0;
  #downUntil = 0;
  /** What the last active check said. */
  #checkedDown = false;
  #health: Health | undefined;
  #observedAt = 0;

  constructor(url: URL, options: UpstreamOptions, secrets: SecretsSource) {
    this.url = url;
    this.origin = url.origin;
    this.connector = createConnector(url, options, secrets);
    this.places = new Places(options.connections, { queue: options.queue, queueMs: options.queue_timeout });
    this.#pool = new Pool(url, {
      // One more than requests may have, for the health check.
      connections: options.connections + 1,
      headersTimeout: options.response_timeout,
      bodyTimeout: options.idle_timeout ?? 0,
      connect: this.connector.connect,
    });
  }

  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    // `servername` is documented for a dispatch, and missing in its type.
    return this.#pool.request({ ...options, servername: this.connector.name } as Dispatcher.RequestOptions);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  /** Requests in flight. */
  get active(): number {
    return this.places.count;
  }

  /** Undefined until somebody has looked. */
  get health(): Health | undefined {
    return this.#health;
  }

  /** When `health` was last confirmed; Unix time in milliseconds. */
  get observedAt(): number {
    return this.#observedAt;
  }

  /** Whether it gets requests while others could have them. A server that failed gets another chance after a while. */
  isEligible(now: number): boolean {
    return !this.#checkedDown && now >= this.#downUntil;
  }

  /** Remembers what an attempt showed, for the status; requests go by `isEligible`. */
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

  /** The result of an active check; returns whether it changed anything. */
  checked(evidence: Evidence, now: number): boolean {
    const changed = this.#checkedDown === evidence.up;
    this.#checkedDown = !evidence.up;
    if (evidence.up) this.succeeded(now);
    else this.observe(evidence, now);
    return changed;
  }
}
