import type { Logger } from 'pino';
import { Refusal } from './refusal.js';
import type { AskedTunnel } from './tunnel_request.js';

/** Answers requests for tunnels of one kind, and counts how. */
export class Answers {
  readonly #log: Logger;
  readonly #counts = new Map<number, number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Number of requests by status */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }

  /** Waits for a tunnel. `open` resolves with false when the client has left, and throws a `Refusal`. */
  async settle(request: AskedTunnel, open: () => Promise<boolean>): Promise<void> {
    try {
      if (await open()) this.#count(200);
      else request.abandon();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, headers } = error;
      const { asked, httpVersion, remoteAddress } = request;
      this.#count(status);
      this.#log.info({ asked, status, httpVersion, remoteAddress }, 'tunnel refused');
      request.refuse(status, headers);
    }
  }

  #count(status: number): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
  }
}
