import type { Socket } from 'node:net';
import { readAhead } from './read_ahead.js';
import { fullBucket } from '../values/token_bucket.js';

/** Networks with fewer connections are never a crowd, whatever their share is. */
const leastAtOnce = 64;
/** Connections of a crowd that are admitted per second */
const turnsPerSecond = 25;
/** Time in milliseconds after which a client gives way when it does nothing although it is its turn */
const quietMs = 2_000;
/**
 * Time in milliseconds after a connection gave way, until others are admitted although no connection gives way for them
 */
const patienceMs = 3_000;
/** Maximum wait of a connection for its turn, in milliseconds */
const maxWaitMs = 10_000;
const lookMs = 250;
const turnsOfOneLook = Math.ceil((turnsPerSecond * lookMs) / 1_000);

/**
 * What a connection waits for: the client's part of an exchange, or the client's next request. Undefined: it is not the
 * client's turn.
 */
export type ClientsTurn = 'exchange' | 'request' | undefined;

interface Waiting {
  begin: () => void;
  timeout: NodeJS.Timeout;
}

/** A connection that can carry requests of HTTP/1.1 */
interface Carrier {
  bytes: number;
  /** Time of the latest progress that was seen, in milliseconds */
  movedAt: number;
}

/** The connections of one network that use HTTP/1.1, or whose handshake has not decided yet */
class Crowd {
  readonly carriers = new Map<Socket, Carrier>();
  /** Connections that wait for their turn, in order of arrival */
  readonly waiting = new Map<Socket, Waiting>();
  readonly turns = fullBucket(turnsPerSecond, turnsOfOneLook);
  /** Connections that had their turn, including those that left */
  begun = 0;
  left = 0;
  /** Turns will be given in this turn of the event loop. */
  releases: NodeJS.Immediate | undefined;
  /** Time when a connection last gave way */
  gaveWayAt = -Infinity;
  #newest = false;

  get open(): number {
    return this.begun - this.left;
  }

  /**
   * Returns the newest and the oldest in turn. A client that comes after the many connections of another one does not wait
   * for all of them, and one that came before does not wait for as long as new ones come.
   */
  next(): Socket | undefined {
    this.#newest = !this.#newest;
    return [...this.waiting.keys()].at(this.#newest ? -1 : 0);
  }
}

/**
 * Bounds the connections of HTTP/1.1 that one network holds. Each costs some 50 KB, and a client that abandons its
 * exchanges without closing them keeps all of them. Beyond a tenth of its share, a network gets further connections one
 * by one. For each, the connection gives way whose client has done nothing for the longest time.
 */
export class Crowds {
  /** Number of connections that gave way */
  hits = 0;
  readonly #atOnce: number;
  readonly #turnOf: (socket: Socket) => ClientsTurn;
  readonly #crowds = new Map<string, Crowd>();
  #timer: NodeJS.Timeout | undefined;

  /** `share`: connections that one network may have */
  constructor(share: number, turnOf: (socket: Socket) => ClientsTurn) {
    this.#atOnce = Math.max(leastAtOnce, Math.ceil(share / 10));
    this.#turnOf = turnOf;
  }

  /** Calls `begin` when it is this connection's turn, and never if the connection closes before. */
  admit(socket: Socket, network: string, begin: () => void): void {
    const crowd = this.#crowds.get(network) ?? new Crowd();
    this.#crowds.set(network, crowd);
    if (crowd.open < this.#atOnce && crowd.waiting.size === 0) {
      this.#begin(crowd, network, socket, begin);
      return;
    }
    const timeout = setTimeout(() => socket.destroy(), maxWaitMs).unref();
    const putBack = readAhead(socket);
    const beginInTurn = (): void => {
      putBack();
      this.#begin(crowd, network, socket, begin);
    };
    crowd.waiting.set(socket, { timeout, begin: beginInTurn });
    const leave = (): void => {
      this.#take(crowd, socket);
      this.#forget(crowd, network);
    };
    // `close` comes only after the turns of this turn of the event loop are given.
    socket.once('end', leave).once('close', leave);
    this.#release(crowd, performance.now());
  }

  /**
   * Notes that the connection, which had its turn, can now carry requests of HTTP/1.1. Over TLS, `socket` is that of TLS,
   * here and in {@link leave}.
   */
  add(socket: Socket, network: string): void {
    const crowd = this.#crowds.get(network);
    if (!crowd) return;
    crowd.carriers.set(socket, { bytes: 0, movedAt: performance.now() });
    socket.once('close', () => crowd.carriers.delete(socket));
  }

  /** Notes that the connection uses HTTP/2, whose requests have their own bounds. */
  leave(socket: Socket, network: string): void {
    const crowd = this.#crowds.get(network);
    if (!crowd) return;
    crowd.left += 1;
    socket.once('close', () => (crowd.left -= 1));
    this.#release(crowd, performance.now());
  }

  /** Closes the connections that wait for their turn. */
  close(): void {
    for (const { waiting } of this.#crowds.values()) for (const socket of waiting.keys()) socket.destroy();
  }

  /** Checks which connections made progress, and gives turns. `now` is in milliseconds. */
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
      this.#releaseSoon(crowd);
      this.#forget(crowd, network);
    });
    begin();
  }

  #forget(crowd: Crowd, network: string): void {
    if (crowd.begun + crowd.waiting.size === 0) this.#crowds.delete(network);
  }

  /** Gives turns once Node has read all sockets: of clients that close many connections, most that wait are gone, too. */
  #releaseSoon(crowd: Crowd): void {
    crowd.releases ??= setImmediate(() => {
      crowd.releases = undefined;
      this.#release(crowd, performance.now());
    });
  }

  #release(crowd: Crowd, now: number): void {
    while (crowd.waiting.size > 0) {
      if (crowd.open >= this.#atOnce) {
        const quietest = this.#quietest(crowd, now);
        if ((!quietest && now - crowd.gaveWayAt < patienceMs) || !crowd.turns.tryRemoveTokens(1)) return;
        if (quietest) this.#giveWay(crowd, quietest, now);
      }
      this.#take(crowd, crowd.next())?.begin();
    }
  }

  #giveWay(crowd: Crowd, socket: Socket, now: number): void {
    this.hits += 1;
    crowd.gaveWayAt = now;
    crowd.carriers.delete(socket);
    socket.destroy();
  }

  /**
   * Returns the quietest connection. A client that left an exchange unfinished comes before one that keeps a connection
   * for later requests.
   */
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

  #take(crowd: Crowd, socket: Socket | undefined): Waiting | undefined {
    const waiting = socket && crowd.waiting.get(socket);
    if (!waiting) return undefined;
    clearTimeout(waiting.timeout);
    crowd.waiting.delete(socket);
    return waiting;
  }
}
