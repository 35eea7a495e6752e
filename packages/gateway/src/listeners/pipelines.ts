import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { headerBytes, type GatewayResponse } from '../http/exchange.js';
import type { ClientsTurn } from './crowds.js';

/** Requests that may wait on a connection; who sends more ahead loses it. */
const mostRequests = 32;
/** Bytes of their fields, from which on no more is read from the connection. */
const mostBytes = 16 * 1024;

interface InFlight {
  request: IncomingMessage;
  response: GatewayResponse;
}

interface Waiting {
  bytes: number;
  begin(): void;
}

/** Requests on one connection of HTTP/1.1: the first is being answered, the others wait, since their responses leave in order. */
class Pipeline {
  inFlight: InFlight | undefined;
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #paused = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#count(waiting.bytes);
  }

  /** Undefined when none waits. */
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

  /** Node resumes a socket whenever somebody looks for the body of a request, also of one that has none. */
  readonly #pause = (): void => {
    this.#socket.off('resume', this.#pause).pause().on('resume', this.#pause);
  };
}

/** Answers the requests of each connection of HTTP/1.1 one after the other. */
export class Pipelines {
  /** Connections that sent too many requests ahead. */
  hits = 0;
  /** Of connections with a request in flight. */
  readonly #pipelines = new WeakMap<Socket, Pipeline>();

  isBusy(socket: Socket): boolean {
    return this.#pipelines.has(socket);
  }

  /** What a connection waits for, if it is the client. */
  turnOf(socket: Socket): ClientsTurn {
    const inFlight = this.#pipelines.get(socket)?.inFlight;
    if (!inFlight) return 'request';
    const { request, response } = inFlight;
    const owesBody = !request.complete && request.readableLength === 0;
    return response.writableLength > 0 || owesBody ? 'exchange' : undefined;
  }

  /** Calls `answer` once the responses before this one are complete. */
  begin(request: IncomingMessage, response: GatewayResponse, answer: () => void): void {
    const { socket, headers } = request;
    // Requests that came with the one that was too many: their responses will never have a connection.
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
