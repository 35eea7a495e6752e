import type { Socket } from 'node:net';
import { TokenBucket } from './token_bucket.js';

/** Networks with fewer connections are no crowd, whatever their share is. */
const leastAtOnce = 64;
/** Of a crowd, so many connections more come in within a second. */
const turnsPerSecond = 25;
/** A client that does nothing although it is its turn gives way after so long, in milliseconds. */
const quietMs = 2_000;
/** From when one gave way until others come in to whom none does, in milliseconds. */
const patienceMs = 3_000;
/** How long a connection may wait for its turn, in milliseconds. */
const maxWaitMs = 10_000;
const lookMs = 250;
const turnsOfOneLook = Math.ceil((turnsPerSecond * lookMs) / 1_000);

/** What the connection waits for: the client's part of an exchange, or its next request. Undefined: it is not the client's turn. */
export type ClientsTurn = 'exchange' | 'request' | undefined;

interface Waiting {
  begin: () => void;
  timeout: NodeJS.Timeout;
}

/** A connection that can carry requests of HTTP/1.1. */
interface Carrier {
  bytes: number;
  /** When it was last seen to have got on, in milliseconds. */
  movedAt: number;
}

/** The connections of one network: those of HTTP/1.1, and those of which only their handshake will tell. */
class Crowd {
  readonly carriers = new Map<Socket, Carrier>();
  /** The last one to come is the first to have its turn: of many that one client opens at a time, others do not wait for all. */
  readonly waiting = new Map<Socket, Waiting>();
  readonly turns = new TokenBucket(turnsPerSecond, turnsOfOneLook);
  /** All whose turn came, also those that left. */
  begun = 0;
  left = 0;
  /** When the last connection gave way. */
  gaveWayAt = -Infinity;

  get open(): number {
    return this.begun - this.left;
  }

  get newest(): Socket | undefined {
    return [...this.waiting.keys()].at(-1);
  }
}

/**
 * A connection of HTTP/1.1 costs some 50 KB, and a client that leaves its exchanges where they are holds as many as it has requests.
 * Beyond a third of its share a network gets more of them one by one, and to each the one gives way whose client has done nothing
 * for the longest time.
 */
export class Crowds {
  /** Connections that gave way. */
  hits = 0;
  readonly #atOnce: number;
  readonly #turnOf: (socket: Socket) => ClientsTurn;
  readonly #crowds = new Map<string, Crowd>();
  /** Connections that had to be admitted: those of trusted proxies belong to no crowd. */
  readonly #members = new WeakSet<Socket>();
  #timer: NodeJS.Timeout | undefined;

  /** `share`: connections that one network may have. */
  constructor(share: number, turnOf: (socket: Socket) => ClientsTurn) {
    this.#atOnce = Math.max(leastAtOnce, Math.ceil(share / 3));
    this.#turnOf = turnOf;
  }

  /** Calls `begin` when it is this connection's turn; never when it closes before. */
  admit(socket: Socket, network: string, begin: () => void): void {
    const crowd = this.#crowds.get(network) ?? new Crowd();
    this.#crowds.set(network, crowd);
    this.#members.add(socket);
    if (crowd.open < this.#atOnce) {
      this.#begin(crowd, network, socket, begin);
      return;
    }
    const timeout = setTimeout(() => socket.destroy(), maxWaitMs).unref();
    crowd.waiting.set(socket, { timeout, begin: () => this.#begin(crowd, network, socket, begin) });
    socket.once('close', () => this.#take(crowd, socket));
    this.#release(crowd, performance.now());
  }

  /** From now on it can carry requests of HTTP/1.1. */
  add(socket: Socket, network: string): void {
    const crowd = this.#crowds.get(network);
    if (!crowd || !this.#members.has(socket)) return;
    crowd.carriers.set(socket, { bytes: 0, movedAt: performance.now() });
    socket.once('close', () => crowd.carriers.delete(socket));
  }

  /** It turned out to be one of HTTP/2, whose requests have their own bounds. */
  leave(socket: Socket, network: string): void {
    const crowd = this.#crowds.get(network);
    if (!crowd || !this.#members.has(socket)) return;
    crowd.left += 1;
    socket.once('close', () => (crowd.left -= 1));
    this.#release(crowd, performance.now());
  }

  /** Closes the connections that wait for their turn. */
  close(): void {
    for (const { waiting } of this.#crowds.values()) for (const socket of waiting.keys()) socket.destroy();
  }

  /** Looks who got on, and gives turns, at `now` in milliseconds. */
  look(now: number): void {
    let crowded = false;
    for (const crowd of this.#crowds.values()) {
      if (crowd.open < this.#atOnce && crowd.waiting.size === 0) continue;
      crowded = true;
      for (const [{ bytesRead, bytesWritten }, carrier] of crowd.carriers) {
        if (carrier.bytes !== bytesRead + bytesWritten) carrier.movedAt = now;
        carrier.bytes = bytesRead + bytesWritten;
      }
      this.#release(crowd, now);
    }
    if (crowded) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #begin(crowd: Crowd, network: string, socket: Socket, begin: () => void): void {
    crowd.begun += 1;
    if (crowd.open >= this.#atOnce) this.#timer ??= setInterval(() => this.look(performance.now()), lookMs).unref();
    socket.once('close', () => {
      crowd.begun -= 1;
      if (crowd.begun + crowd.waiting.size === 0) this.#crowds.delete(network);
      else this.#release(crowd, performance.now());
    });
    begin();
  }

  #release(crowd: Crowd, now: number): void {
    for (let socket = crowd.newest; socket; socket = crowd.newest) {
      if (crowd.open >= this.#atOnce) {
        const quietest = this.#quietest(crowd, now);
        if ((!quietest && now - crowd.gaveWayAt < patienceMs) || !crowd.turns.take()) return;
        if (quietest) this.#giveWay(crowd, quietest, now);
      }
      this.#take(crowd, socket)?.begin();
    }
  }

  #giveWay(crowd: Crowd, socket: Socket, now: number): void {
    this.hits += 1;
    crowd.gaveWayAt = now;
    crowd.carriers.delete(socket);
    socket.destroy();
  }

  /** Who leaves an exchange where it is goes before who only keeps a connection for later. */
  #quietest(crowd: Crowd, now: number): Socket | undefined {
    const quietest: Partial<Record<'exchange' | 'request', Socket>> = {};
    const least = { exchange: now - quietMs, request: now - quietMs };
    for (const [socket, { movedAt }] of crowd.carriers) {
      const turn = movedAt > now - quietMs ? undefined : this.#turnOf(socket);
      if (!turn || movedAt > least[turn]) continue;
      quietest[turn] = socket;
      least[turn] = movedAt;
    }
    return quietest.exchange ?? quietest.request;
  }

  #take(crowd: Crowd, socket: Socket): Waiting | undefined {
    const waiting = crowd.waiting.get(socket);
    if (waiting) clearTimeout(waiting.timeout);
    crowd.waiting.delete(socket);
    return waiting;
  }
}
