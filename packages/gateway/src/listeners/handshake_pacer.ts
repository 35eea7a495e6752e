import type { Socket } from 'node:net';
import type { TokenBucket } from 'limiter';
import { fullBucket } from './token_bucket.js';

export interface HandshakePacerOptions {
  /** Handshakes that may begin within a second, and at one moment */
  perSecond: number;
  /** Maximum of waiting connections; further ones are closed at once */
  maxWaiting: number;
  /** Maximum wait of a connection */
  maxWaitMs: number;
}

interface Waiting {
  begin: () => void;
  timeout: NodeJS.Timeout;
}

/**
 * Bounds the cost of TLS handshakes, each of which takes a signature. TCP has validated the client's address by then,
 * so nothing like QUIC's Retry is needed. Connections beyond the rate wait for their turn, and cost only a socket
 * meanwhile.
 */
export class HandshakePacer {
  readonly #options: HandshakePacerOptions;
  /** Waiting connections in order of arrival */
  readonly #waiting = new Map<Socket, Waiting>();
  readonly #turns: TokenBucket;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HandshakePacerOptions) {
    this.#options = options;
    this.#turns = fullBucket(options.perSecond, options.perSecond);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls `begin` when it is this connection's turn, and never if the connection closes before. */
  admit(socket: Socket, begin: () => void): void {
    if (this.#waiting.size === 0 && this.#turns.tryRemoveTokens(1)) {
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
    this.#timer = setTimeout(() => this.#release(), Math.max(1, this.#turns.getWaitTime(1))).unref();
  }

  #release(): void {
    this.#timer = undefined;
    for (const socket of this.#waiting.keys()) {
      if (!this.#turns.tryRemoveTokens(1)) break;
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
