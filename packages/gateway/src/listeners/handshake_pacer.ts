import type { Socket } from 'node:net';
import { OwnCounts, type Counts } from '../values/counts.js';

export interface HandshakePacerOptions {
  /** Handshakes that may begin within a second, and at one moment */
  perSecond: number;
  /** Maximum of waiting connections; further ones are closed at once */
  maxWaiting: number;
  /** Maximum wait of a connection */
  maxWaitMs: number;
  /** Counts turns and waiting connections together with other threads. Default: this object alone */
  counts?: Counts | undefined;
}

/** Names of what is counted */
const names = { turns: 'turns of handshakes', waiting: 'waiting handshakes' };

/** Milliseconds between two looks for a turn, where there is one each second */
const looksMs = 500;

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
  readonly #counts: Counts;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HandshakePacerOptions) {
    this.#options = options;
    this.#counts = options.counts ?? new OwnCounts();
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls `begin` when it is this connection's turn, and never if the connection closes before. */
  admit(socket: Socket, begin: () => void): void {
    if (this.#waiting.size === 0 && this.#nobodyWaits() && this.#takesTurn()) {
      begin();
      return;
    }
    if (this.#counts.take([{ name: names.waiting, most: this.#options.maxWaiting }]) !== undefined) {
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
    // Another thread may take the next turn, so nobody knows when this one has it.
    this.#timer = setTimeout(() => this.#release(), Math.max(1, looksMs / this.#options.perSecond)).unref();
  }

  /** Whether no other thread has a connection that came earlier and waits */
  #nobodyWaits(): boolean {
    if (this.#counts.take([{ name: names.waiting, most: 1 }]) !== undefined) return false;
    this.#counts.give([names.waiting]);
    return true;
  }

  #takesTurn(): boolean {
    return this.#counts.takeTurn(names.turns, this.#options.perSecond);
  }

  #release(): void {
    this.#timer = undefined;
    for (const socket of this.#waiting.keys()) {
      if (!this.#takesTurn()) break;
      this.#take(socket)?.begin();
    }
    this.#schedule();
  }

  #take(socket: Socket): Waiting | undefined {
    const waiting = this.#waiting.get(socket);
    if (!waiting) return undefined;
    clearTimeout(waiting.timeout);
    this.#waiting.delete(socket);
    this.#counts.give([names.waiting]);
    return waiting;
  }
}
