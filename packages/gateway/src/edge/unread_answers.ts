import type { Exchange } from '../http/exchange.js';

/** Answers that may wait for their clients at the same time. */
export const mostUnread = 12;
/** So long a client may be behind before that counts. */
const patienceMs = 5_000;
const lookMs = 1_000;

/** An answer whose client has not taken all that there is of it. */
interface Behind {
  since: number;
  /** `bytesSent` then. */
  bytes: number;
}

/**
 * Watches over answers whose clients read slowly or not at all. All answers share the credit of the one connection to the
 * gateway (RFC 9000 §4.1), and each may hold as much as a stream's window: when too many do, the slowest go, so that others get theirs.
 */
export class UnreadAnswers {
  readonly #all = new Map<Exchange, Behind | undefined>();
  #timer: NodeJS.Timeout | undefined;

  add(exchange: Exchange): void {
    this.#all.set(exchange, undefined);
    this.#timer ??= setInterval(() => this.look(performance.now()), lookMs).unref();
  }

  delete(exchange: Exchange): void {
    this.#all.delete(exchange);
    if (this.#all.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Ends what is too much, at `now` in milliseconds. */
  look(now: number): void {
    const behind: { exchange: Exchange; bytesPerMs: number }[] = [];
    for (const [exchange, before] of this.#all) {
      const waits = exchange.response.writableLength > 0;
      const since = waits ? (before ?? { since: now, bytes: exchange.bytesSent }) : undefined;
      this.#all.set(exchange, since);
      if (since && now - since.since >= patienceMs) behind.push({ exchange, bytesPerMs: (exchange.bytesSent - since.bytes) / (now - since.since) });
    }
    behind.sort((one, other) => one.bytesPerMs - other.bytesPerMs);
    for (const { exchange } of behind.slice(0, Math.max(0, behind.length - mostUnread))) {
      this.delete(exchange);
      // HTTP/2 calls an answer without an error complete.
      exchange.response.destroy(new Error('the client reads too slowly, as many others do'));
    }
  }
}
