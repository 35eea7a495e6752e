import type { Socket } from 'node:net';
import { TokenBucket } from './token_bucket.js';

export interface HandshakePacerOptions {
  /** Handshakes that may begin within a second; as many may begin at one time. */
  perSecond: number;
  /** Connections that may wait for their turn; more are closed at once. */
  maxWaiting: number;
  /** How long one may wait. */
  maxWaitMs: number;
}

interface Waiting {
  begin: () => void;
  timeout: NodeJS.Timeout;
}

/**
 * Bounds what TLS handshakes cost: each takes a signature. TCP has proven the client's address by
 * then, so that nothing like QUIC's Retry is needed; what comes too fast waits for its turn, and
 * costs a socket meanwhile.
 */
export class HandshakePacer {
  readonly #options: HandshakePacerOptions;
  /** In order of arrival. */
  readonly #waiting = new Map<Socket, Waiting>();
  readonly #turns: TokenBucket;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HandshakePacerOptions) {
    this.#options = options;
    this.#turns = new TokenBucket(options.perSecond, options.perSecond);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls `begin` when it is this connection's turn; never when it closes before. */
  admit(socket: Socket, begin: () => void): void {
    if (this.#waiting.size === 0 && this.#turns.take()) {
      begin();
      return;
    }
    if (this.#waiting.size >= this.#options.maxWaiting) {
      socket.destroy();
      return;
    }
    const timeout = setTimeout(() => socket.destroy(), this.#options.maxWaitMs).unref();
    this.#waiting.set(socket, { begin, timeout });
    socket.once('close', () => this.#take(socket));
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return;
    this.#timer = setTimeout(() => this.#release(), this.#turns.wait).unref();
  }

  #release(): void {
    this.#timer = undefined;
    for (const socket of this.#waiting.keys()) {
      if (!this.#turns.take()) break;
      this.#take(socket)?.begin();
    }
    this.#schedule();
  }

  #take(socket: Socket): Waiting | undefined {
    const waiting = this.#waiting.get(socket);
    if (waiting) clearTimeout(waiting.timeout);
    this.#waiting.delete(socket);
    return waiting;
  }
}
