import type { Logger } from 'pino';
import { Refusal } from './refusal.js';
import { StatusCounts } from './status_counts.js';
import type { AskedTunnel } from './tunnel_request.js';

/** Answers requests for tunnels of one kind, and counts how. */
export class Answers {
  readonly #log: Logger;
  readonly #counts = new StatusCounts();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Number of requests by status */
  get counts(): Record<string, number> {
    return this.#counts.all;
  }

  /** Waits for a tunnel. `open` resolves with false when the client has left, and throws a `Refusal`. */
  async settle(request: AskedTunnel, open: () => Promise<boolean>): Promise<void> {
    try {
      if (await open()) this.#counts.note(200);
      else request.abandon();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, headers } = error;
      const { asked, httpVersion, remoteAddress } = request;
      this.#counts.note(status);
      this.#log.info({ asked, status, httpVersion, remoteAddress }, 'tunnel refused');
      request.refuse(status, headers);
    }
  }
}
