import { Pool } from 'undici';
import type { UpstreamOptions } from './options.js';

/** Failures of connections in a row after which a server counts as down. */
const failuresUntilDown = 3;
/** How long it then gets no requests while others are up. */
const downMs = 5_000;

/** One server behind a route, with its connections and what is known of its health. */
export class UpstreamMember {
  readonly origin: string;
  readonly pool: Pool;
  /** Requests under way. */
  active = 0;
  requests = 0;
  failures = 0;
  #failuresInARow = 0;
  #downUntil = 0;
  /** What the last active check said. */
  #checkedDown = false;

  constructor(origin: URL, options: UpstreamOptions) {
    this.origin = origin.origin;
    this.pool = new Pool(origin, {
      connections: options.connections,
      headersTimeout: options.response_timeout,
      bodyTimeout: options.response_timeout,
      connect: { timeout: options.connect_timeout },
    });
  }

  isUp(now: number): boolean {
    return !this.#checkedDown && now >= this.#downUntil;
  }

  succeeded(): void {
    this.#failuresInARow = 0;
    this.#downUntil = 0;
  }

  failed(now: number): void {
    this.failures += 1;
    this.#failuresInARow += 1;
    if (this.#failuresInARow >= failuresUntilDown) this.#downUntil = now + downMs;
  }

  /** The result of an active check; returns whether it changed anything. */
  checked(healthy: boolean): boolean {
    const changed = this.#checkedDown === healthy;
    this.#checkedDown = !healthy;
    if (healthy) this.succeeded();
    return changed;
  }
}
