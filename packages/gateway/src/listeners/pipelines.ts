import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { headerBytes } from '../http/exchange.js';
import type { ClientsTurn } from './crowds.js';

/** Bound on the requests that wait on a connection. A client that sends more loses the connection. */
const mostRequests = 32;
/** Bytes of fields in waiting requests at which the gateway stops reading from the connection */
const mostBytes = 16 * 1024;

/** A response, or the connection itself when a request takes it over */
interface Carrier {
  /** Bytes that the client has not taken yet */
  readonly writableLength: number;
  once(event: 'close', listener: () => void): unknown;
}

interface InFlight {
  request: IncomingMessage;
  response: Carrier;
}

interface Waiting {
  bytes: number;
  begin(): void;
}

/**
 * Requests on one connection of HTTP/1.1. The first is being answered; the others wait, since responses must be sent in
 * order.
 */
class Pipeline {
  inFlight: InFlight | undefined;
  /** How responses hear that the client has taken something */
  readonly #onDrain: readonly (() => void)[];
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #paused = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#onDrain = socket.listeners('drain') as (() => void)[];
  }

  /** Node leaves a connection that is taken over at once, though earlier responses are in flight. Returns what ends this. */
  keepDraining(): () => void {
    for (const listener of this.#onDrain) this.#socket.on('drain', listener);
    return () => {
      for (const listener of this.#onDrain) this.#socket.off('drain', listener);
    };
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#count(waiting.bytes);
  }

  /** Takes the next waiting request; undefined when none waits. */
  next(): Waiting | undefined {
    const next = this.#waiting.shift();
    if (next) this.#count(-next.bytes);
    return next;
  }

  clear(): void {
    this.#waiting.length = 0;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    const full = this.#bytes >= mostBytes;
    if (full === this.#paused) return;
    this.#paused = full;
    if (full) this.#pause();
    else this.#socket.off('resume', this.#pause).resume();
  }

  /**
   * Pauses the socket again, since Node resumes it whenever code accesses the body of a request, even of a request
   * without one.
   */
  readonly #pause = (): void => {
    this.#socket.off('resume', this.#pause).pause().on('resume', this.#pause);
  };
}

/** Answers the requests of each HTTP/1.1 connection one after the other. */
export class Pipelines {
  /** Number of connections that sent too many requests ahead */
  hits = 0;
  /** Pipelines of connections with a request in flight */
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  /** Requests whose clients wait for 100 before they send the body */
  readonly #unconfirmed = new WeakSet<IncomingMessage>();

  isBusy(socket: Socket): boolean {
    return this.#pipelines.has(socket);
  }

  /** Returns what the client of a connection must do next; undefined if it is the gateway's turn. */
  turnOf(socket: Socket): ClientsTurn {
    const inFlight = this.#pipelines.get(socket)?.inFlight;
    if (!inFlight) return 'request';
    const { request, response } = inFlight;
    const owesBody = !request.complete && request.readableLength === 0 && !this.#unconfirmed.has(request);
    return response.writableLength > 0 || owesBody ? 'exchange' : undefined;
  }

  /** Returns a `confirm` that tells the client to send the body. Until then the gateway has the turn. */
  holdBody(request: IncomingMessage, confirm: () => void): () => void {
    this.#unconfirmed.add(request);
    return () => {
      this.#unconfirmed.delete(request);
      confirm();
    };
  }

  /** As `begin`, for a request whose connection is one of HTTP no longer. */
  takeOver(request: IncomingMessage, socket: Socket, answer: () => void): void {
    const stop = this.#pipelines.get(socket)?.keepDraining();
    this.begin(request, socket, () => {
      stop?.();
      // Node gave it the time that a connection may be idle between requests.
      socket.setTimeout(0);
      answer();
    });
  }

  /** Calls `answer` once the responses before this one are complete. */
  begin(request: IncomingMessage, response: Carrier, answer: () => void): void {
    const { socket, headers } = request;
    // The request came together with the one that was too many. The connection for its response is gone.
    if (socket.destroyed) return;
    const pipeline = this.#pipelines.get(socket);
    const begin = (): void => this.#begin({ request, response }, answer);
    if (pipeline === undefined) {
      this.#pipelines.set(socket, new Pipeline(socket));
      begin();
    } else if (pipeline.waiting < mostRequests) {
      pipeline.add({ bytes: headerBytes(headers), begin });
    } else {
      this.hits += 1;
      pipeline.clear();
      socket.destroy();
    }
  }

  #begin(inFlight: InFlight, answer: () => void): void {
    const { request, response } = inFlight;
    const { socket } = request;
    const pipeline = this.#pipelines.get(socket);
    if (pipeline) pipeline.inFlight = inFlight;
    response.once('close', () => {
      const next = this.#pipelines.get(socket)?.next();
      if (next && !socket.destroyed) next.begin();
      else this.#pipelines.delete(socket);
    });
    answer();
  }
}
