import type { IncomingMessage } from 'node:http';
import { constants, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { headerBytes, type GatewayResponse } from '../http/exchange.js';
import { networkOf } from '../values/client_network.js';
import { Crowds } from './crowds.js';
import { Pipelines } from './pipelines.js';

/** Bytes of responses that wait for one client, and for all of one network. */
const sessionBytes = 3 * 2 ** 20;
const networkBytes = 32 * 2 ** 20;
const chunkBytes = 64 * 1024;
const smallChunkBytes = 16 * 1024;
/** Connections of one network, from which on each response over HTTP/1.1 is read in small pieces. */
const manySockets = 64;
/** Requests of one network, from which on a client has only a few. One counts for each so many bytes of its fields. */
const networkRequests = 1_000;
const fewRequests = 8;
const requestBytes = 4 * 1024;

interface Network {
  name: string;
  sockets: number;
  /** By what they count for. */
  requests: number;
  sessions: Set<Session>;
  /** Its clients were told to have only a few streams open. */
  scarce: boolean;
}

/** What HTTP/2 clients have in flight. */
class Session {
  /** With the bytes that each was told it may write, until it has. */
  readonly responses = new Map<GatewayResponse, number>();
  /** By what they count for. */
  requests = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #session: ServerHttp2Session;

  constructor(
    readonly network: Network,
    session: ServerHttp2Session,
  ) {
    this.#session = session;
  }

  /** RFC 9113 §5.1.2: a client that knows keeps its requests to itself, and need not be refused each. */
  allow(streams: number): void {
    if (!this.#session.destroyed && !this.#session.closed) this.#session.settings({ maxConcurrentStreams: streams });
  }

  /** Bytes to write next. */
  async room(response: GatewayResponse): Promise<number> {
    const wait = (): Promise<void> => new Promise((resolve) => this.#waiting.push(resolve));
    if (this.responses.has(response)) this.responses.set(response, 0);
    while (this.responses.has(response) && (this.#held() >= this.#limit() || response.writableNeedDrain)) await wait();
    if (!this.responses.has(response)) return smallChunkBytes;
    const bytes = this.#held() < this.#limit() / 4 ? chunkBytes : smallChunkBytes;
    this.responses.set(response, bytes);
    return bytes;
  }

  /** A client took something, or wants no more of it. */
  goOn(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #held(): number {
    let bytes = 0;
    for (const [{ writableLength }, granted] of this.responses) bytes += writableLength + granted;
    return bytes;
  }

  #limit(): number {
    return Math.min(sessionBytes, networkBytes / this.network.sessions.size);
  }
}

/**
 * Shares out what clients of HTTP/1.1 and HTTP/2 may take, per network: connections, requests in flight, and the bytes of
 * responses that they do not read. The transport does the same for QUIC.
 */
export class TcpClients {
  readonly #hits = { tcp_network_connections: 0, tcp_network_requests: 0 };
  readonly #connectionsPerNetwork: number;
  readonly #streams: number;
  readonly #networks = new Map<string, Network>();
  readonly #sessions = new WeakMap<ServerHttp2Session, Session>();
  readonly #pipelines = new Pipelines();
  readonly #crowds: Crowds;

  /** `streams`: that a client of HTTP/2 may have open while there is no shortage. */
  constructor(connectionsPerNetwork: number, streams: number) {
    this.#connectionsPerNetwork = connectionsPerNetwork;
    this.#streams = streams;
    this.#crowds = new Crowds(connectionsPerNetwork, (socket) => this.#pipelines.turnOf(socket));
  }

  /** How often which bound was met. */
  get hits(): Readonly<Record<string, number>> {
    return { ...this.#hits, tcp_pipelined_requests: this.#pipelines.hits, tcp_network_crowded: this.#crowds.hits };
  }

  /** False: its network has its share; the connection is closed. */
  admit(socket: Socket, address: string): boolean {
    const name = networkOf(address);
    const network = this.#networks.get(name) ?? { name, sockets: 0, requests: 0, sessions: new Set(), scarce: false };
    if (network.sockets >= this.#connectionsPerNetwork) {
      this.#hits.tcp_network_connections += 1;
      socket.destroy();
      return false;
    }
    network.sockets += 1;
    this.#networks.set(name, network);
    socket.once('close', () => {
      network.sockets -= 1;
      if (network.sockets === 0) this.#networks.delete(name);
    });
    return true;
  }

  /** Calls `begin` when it is the turn of a client that was admitted. */
  await(socket: Socket, address: string, begin: () => void): void {
    this.#crowds.admit(socket, networkOf(address), begin);
  }

  /** A connection of a client whose turn came can carry requests of this version. */
  carry(socket: Socket, address: string, version: 'http/1.1' | 'h2'): void {
    if (version === 'h2') this.#crowds.leave(socket, networkOf(address));
    else this.#crowds.add(socket, networkOf(address));
  }

  /** Closes the connections whose turn did not come. */
  closeWaiting(): void {
    this.#crowds.close();
  }

  /** That a session of this client has at first. */
  streamsFor(address: string): number {
    return this.#networks.get(networkOf(address))?.scarce ? this.#few : this.#streams;
  }

  /** A session of a client that was admitted. */
  open(session: ServerHttp2Session, address: string): void {
    const network = this.#networks.get(networkOf(address));
    if (!network) return;
    const own = new Session(network, session);
    network.sessions.add(own);
    this.#sessions.set(session, own);
    session.once('close', () => network.sessions.delete(own));
  }

  /** Of a connection of HTTP/1.1: a request is in flight, or waits for one that is. */
  isBusy(socket: Socket): boolean {
    return this.#pipelines.isBusy(socket);
  }

  /**
   * Answers a request when it may be: on HTTP/2 at once, unless its network has as many in flight as it may; on HTTP/1.1 once
   * the ones before it on the connection are answered, since their responses leave in order.
   */
  begin(
    request: Http2ServerRequest | IncomingMessage,
    address: string,
    response: GatewayResponse,
    answer: () => void,
  ): void {
    if (!('stream' in request) || request.httpVersionMajor === 1) {
      const network = this.#networks.get(networkOf(address));
      if (network) response.room = () => (network.sockets > manySockets ? smallChunkBytes : chunkBytes);
      this.#pipelines.begin(request as IncomingMessage, response, answer);
      return;
    }
    const own = this.#sessions.get(request.stream.session as ServerHttp2Session);
    if (!own || this.#take(own, response, Math.max(1, headerBytes(request.headers) / requestBytes))) {
      answer();
      return;
    }
    // RFC 9113 §8.7: nothing was done for it, so it may be sent again.
    request.stream.close(constants.NGHTTP2_REFUSED_STREAM);
  }

  /** Counts the response for so many requests, and gives it its `room`. False: its network has as many requests as it may have. */
  #take(own: Session, response: GatewayResponse, requests: number): boolean {
    const { network, responses } = own;
    if (network.requests >= networkRequests && responses.size > 0 && own.requests + requests > fewRequests) {
      this.#hits.tcp_network_requests += 1;
      return false;
    }
    network.requests += requests;
    own.requests += requests;
    if (network.requests >= networkRequests) this.#makeScarce(network, true);
    responses.set(response, 0);
    response.room = () => own.room(response);
    response.on('drain', () => own.goOn());
    response.once('close', () => {
      network.requests -= requests;
      own.requests -= requests;
      if (network.requests <= networkRequests / 2) this.#makeScarce(network, false);
      responses.delete(response);
      own.goOn();
    });
    return true;
  }

  get #few(): number {
    return Math.min(fewRequests, this.#streams);
  }

  #makeScarce(network: Network, scarce: boolean): void {
    if (network.scarce === scarce) return;
    network.scarce = scarce;
    for (const session of network.sessions) session.allow(scarce ? this.#few : this.#streams);
  }
}
