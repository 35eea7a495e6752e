import type { IncomingMessage } from 'node:http';
import { constants, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { headerBytes, type GatewayResponse } from '../http/exchange.js';
import type { FrontLimits } from '../schema/front.js';
import { networkOf } from '../values/client_network.js';
import { OwnCounts, type Counts } from '../values/counts.js';
import { Crowds } from './crowds.js';
import { Pipelines } from './pipelines.js';

/** Bounds on response bytes that wait for one client, and for all clients of one network */
const sessionBytes = 3 * 2 ** 20;
const networkBytes = 32 * 2 ** 20;
const chunkBytes = 64 * 1024;
const smallChunkBytes = 16 * 1024;
/** Number of connections of a network above which responses over HTTP/1.1 are read in small pieces */
const manySockets = 64;
/**
 * Number of requests of a network above which each of its clients may have only a few. Each `requestBytes` of a
 * request's fields count as one request.
 */
const networkRequests = 1_000;
/** Numbers of requests at which a shortage ends, and at which nothing is left of it */
const recovering = networkRequests / 2;
const recovered = networkRequests / 8;
const fewRequests = 8;
const requestBytes = 4 * 1024;

/** Connections that there may be, of all clients and of one network */
export type TcpClientLimits = Pick<FrontLimits, 'connections' | 'connections_per_network'>;

interface Together {
  counts?: Counts;
  workers?: number;
}

interface Network {
  name: string;
  sockets: number;
  /** Requests in flight, weighted by the size of their fields */
  requests: number;
  sessions: Set<Session>;
  /** Sessions that may open no more streams than they have, in the order in which they get more again */
  reduced: Set<Session>;
  supply: Supply;
}

/**
 * How many streams each client of a network may open: all, a few, or after a shortage (`shared`) an equal share of the
 * network's requests. Allowing all of them 128 streams again at one moment would bring the next shortage.
 */
type Supply = 'ample' | 'scarce' | 'shared';

/** The responses in flight to one HTTP/2 client */
class Session {
  /** Bytes that each response was allowed to write and has not written yet */
  readonly responses = new Map<GatewayResponse, number>();
  /** Requests in flight, weighted by the size of their fields */
  requests = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #session: ServerHttp2Session;
  /** Maximum of streams that was announced last */
  #allowed: number;

  constructor(
    readonly network: Network,
    session: ServerHttp2Session,
    allowed: number,
  ) {
    this.#session = session;
    this.#allowed = allowed;
  }

  /**
   * Announces a new maximum of streams (RFC 9113 §5.1.2). A client that knows it holds requests back, so that none must
   * be refused.
   */
  allow(streams: number): void {
    if (this.#session.destroyed || this.#session.closed) return;
    this.#allowed = streams;
    this.#session.settings({ maxConcurrentStreams: streams });
  }

  /**
   * Allows no more streams than have a response in flight. A client that knew its maximum and is refused nevertheless
   * sends large fields.
   */
  allowNoMore(): void {
    const streams = Math.max(1, this.responses.size);
    if (streams >= this.#allowed || this.#session.localSettings.maxConcurrentStreams !== this.#allowed) return;
    this.allow(streams);
    this.network.reduced.add(this);
  }

  /** Allows one more stream than have a response in flight. Returns whether these are as few as a shortage leaves. */
  allowOneMore(): boolean {
    const streams = this.responses.size + 1;
    if (streams > this.#allowed) this.allow(Math.min(fewRequests, streams));
    return this.#allowed >= fewRequests;
  }

  /** Waits until the response may continue, and returns how many bytes it may write next. */
  async room(response: GatewayResponse): Promise<number> {
    const wait = (): Promise<void> => new Promise((resolve) => this.#waiting.push(resolve));
    if (this.responses.has(response)) this.responses.set(response, 0);
    while (this.responses.has(response) && (this.#held() >= this.#limit() || response.writableNeedDrain)) await wait();
    if (!this.responses.has(response)) return smallChunkBytes;
    const bytes = this.#held() < this.#limit() / 4 ? chunkBytes : smallChunkBytes;
    this.responses.set(response, bytes);
    return bytes;
  }

  /** Wakes waiting responses: a client took some bytes, or abandoned a response. */
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
 * Shares connections, requests in flight and unread response bytes of HTTP/1.1 and HTTP/2 among networks. The transport
 * does the same for QUIC.
 */
export class TcpClients {
  readonly #hits = { tcp_connections: 0, tcp_network_connections: 0, tcp_network_requests: 0 };
  readonly #limits: TcpClientLimits;
  readonly #counts: Counts;
  readonly #streams: number;
  readonly #networks = new Map<string, Network>();
  readonly #sessions = new WeakMap<ServerHttp2Session, Session>();
  readonly #pipelines = new Pipelines();
  readonly #crowds: Crowds;

  /**
   * `streams`: maximum of open streams of an HTTP/2 client while there is no shortage. `counts` are those of all `workers`, among which
   * the turns of a crowd are divided.
   */
  constructor(limits: TcpClientLimits, streams: number, { counts = new OwnCounts(), workers = 1 }: Together = {}) {
    this.#limits = limits;
    this.#counts = counts;
    this.#streams = streams;
    this.#crowds = new Crowds(Math.ceil(limits.connections_per_network / workers), (socket) =>
      this.#pipelines.turnOf(socket),
    );
  }

  /** Returns how often each bound was reached. */
  get hits(): Readonly<Record<string, number>> {
    return { ...this.#hits, tcp_pipelined_requests: this.#pipelines.hits, tcp_network_crowded: this.#crowds.hits };
  }

  /** Admits a connection. Returns false and closes it if there are enough, of all clients or of its network. */
  admit(socket: Socket, address: string): boolean {
    const name = networkOf(address);
    const { connections, connections_per_network: ofNetwork } = this.#limits;
    const full = this.#counts.take([
      { name: 'all', most: connections },
      { name, most: ofNetwork },
    ]);
    if (full !== undefined) {
      this.#hits[full === 0 ? 'tcp_connections' : 'tcp_network_connections'] += 1;
      socket.destroy();
      return false;
    }
    const network = this.#networks.get(name) ?? {
      name,
      sockets: 0,
      requests: 0,
      sessions: new Set(),
      reduced: new Set(),
      supply: 'ample',
    };
    network.sockets += 1;
    this.#networks.set(name, network);
    socket.once('close', () => {
      network.sockets -= 1;
      this.#counts.give(['all', name]);
      if (network.sockets === 0) this.#networks.delete(name);
    });
    return true;
  }

  /** Calls `begin` when it is the turn of this admitted connection. */
  await(socket: Socket, address: string, begin: () => void): void {
    this.#crowds.admit(socket, networkOf(address), begin);
  }

  /** Notes the HTTP version of a connection that had its turn. */
  carry(socket: Socket, address: string, version: 'http/1.1' | 'h2'): void {
    if (version === 'h2') this.#crowds.leave(socket, networkOf(address));
    else this.#crowds.add(socket, networkOf(address));
  }

  /** Closes the connections that still wait for their turn. */
  closeWaiting(): void {
    this.#crowds.close();
  }

  /** Returns the initial maximum of streams of a session with this client. */
  streamsFor(address: string): number {
    const network = this.#networks.get(networkOf(address));
    return network ? this.#streamsIn(network) : this.#streams;
  }

  /** Notes a session of an admitted client. */
  open(session: ServerHttp2Session, address: string): void {
    const network = this.#networks.get(networkOf(address));
    if (!network) return;
    const own = new Session(network, session, this.#streamsIn(network));
    network.sessions.add(own);
    this.#sessions.set(session, own);
    session.once('close', () => {
      network.sessions.delete(own);
      network.reduced.delete(own);
    });
  }

  /** Returns whether a request of this HTTP/1.1 connection is in flight, or waits for one that is. */
  isBusy(socket: Socket): boolean {
    return this.#pipelines.isBusy(socket);
  }

  /** Returns a `confirm` for a request whose client waits for 100 before it sends the body. */
  holdBody(request: Http2ServerRequest | IncomingMessage, confirm: () => void): () => void {
    return request.httpVersionMajor === 1 ? this.#pipelines.holdBody(request as IncomingMessage, confirm) : confirm;
  }

  /**
   * Calls `answer` when the request may be answered. On HTTP/2 that is at once, unless its network has too many
   * requests in flight. On HTTP/1.1 it is after the earlier responses of the connection, since responses must be sent
   * in order.
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
    // RFC 9113 §8.7: REFUSED_STREAM tells the client that nothing was processed, so it may send the request again.
    request.stream.close(constants.NGHTTP2_REFUSED_STREAM);
  }

  /** Calls `answer` after the earlier responses of a connection of HTTP/1.1, which then is no longer one of HTTP. */
  takeOver(request: IncomingMessage, socket: Socket, answer: () => void): void {
    this.#pipelines.takeOver(request, socket, answer);
  }

  /**
   * Counts the response as `requests` requests, and sets its `room`. Returns false if its network has too many requests
   * in flight.
   */
  #take(own: Session, response: GatewayResponse, requests: number): boolean {
    const { network, responses } = own;
    if (network.requests >= networkRequests && responses.size > 0 && own.requests + requests > fewRequests) {
      this.#hits.tcp_network_requests += 1;
      own.allowNoMore();
      return false;
    }
    network.requests += requests;
    own.requests += requests;
    if (network.requests >= networkRequests) this.#supply(network, 'scarce');
    responses.set(response, 0);
    response.room = () => own.room(response);
    response.on('drain', () => own.goOn());
    response.once('close', () => {
      network.requests -= requests;
      own.requests -= requests;
      if (network.supply === 'scarce' && network.requests <= recovering) this.#supply(network, 'shared');
      if (network.supply === 'shared' && network.requests <= recovered) this.#supply(network, 'ample');
      responses.delete(response);
      own.goOn();
      this.#allowOneMore(network);
    });
    return true;
  }

  /** Gives a place that became free to the next session that may open none. */
  #allowOneMore({ requests, reduced }: Network): void {
    if (requests >= networkRequests) return;
    for (const session of reduced) {
      reduced.delete(session);
      if (!session.allowOneMore()) reduced.add(session);
      return;
    }
  }

  #streamsIn({ supply, sessions }: Network): number {
    if (supply === 'ample') return this.#streams;
    const share = supply === 'shared' ? Math.floor(networkRequests / sessions.size) : 0;
    return Math.min(this.#streams, Math.max(fewRequests, share));
  }

  #supply(network: Network, supply: Supply): void {
    if (network.supply === supply) return;
    network.supply = supply;
    network.reduced.clear();
    for (const session of network.sessions) session.allow(this.#streamsIn(network));
  }
}
