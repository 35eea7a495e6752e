import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import type { Http3Client, ReceivedResponse } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import { headerValue } from '../http/exchange.js';
import { lostConnection } from '../http/proxied_request.js';
import { CarriedSockets } from '../tunnels/carried_sockets.js';
import type { JoinedStream } from '../tunnels/joined_streams.js';
import { StatusCounts } from '../tunnels/status_counts.js';
import type { Target } from '../tunnels/target_rules.js';
import { formatAddress } from '../values/listen_error.js';
import { gatewayLost, refusalOf, TunnelRefused } from './refused.js';

/** Time in milliseconds without a byte after which a tunnel ends. Gateways end theirs sooner. */
const idleMs = 3_600_000;

/** Long streams take turns at the gateway, instead of each waiting for those before it (RFC 9218 §4.2). */
const priority = { priority: 'u=3, i' };

/** The connection to the gateway that is open, or one that is opened */
export interface ProxyConnection {
  /** Whether `open` rejects from now on */
  readonly closed: boolean;
  open(): Promise<Http3Client>;
  /** Calls `listener` once new requests no longer go to this connection. Returns a function that ends this. */
  onLeft(client: Http3Client, listener: () => void): () => void;
  /** Uses this connection for no more requests. */
  retire(client: Http3Client): void;
}

export interface TcpTunnelsOptions {
  gateway: ProxyConnection;
  /** Fields of each request, with credentials */
  headers: Readonly<Record<string, string>>;
  log: Logger;
}

/** A program that wants its connection carried to a target */
export interface Program {
  /** What it speaks, for the log */
  kind: string;
  /** Tells it that the tunnel is open. */
  accept(): void;
  /** Tells it why it gets none, and ends its connection. */
  refuse(refusal: TunnelRefused): void;
}

interface OpenedStream extends JoinedStream {
  abort(): void;
}

/** What the log calls the sides of a tunnel */
const sides = { ended: 'ended', stream: 'gateway', socket: 'program', idle: 'idle' } as const;

/** Tunnels for TCP through a gateway: a CONNECT over HTTP/3 for each connection of a program (RFC 9114 §4.4) */
export class TcpTunnels {
  readonly #options: TcpTunnelsOptions;
  readonly #carried = new CarriedSockets();
  readonly #answers = new StatusCounts();

  constructor(options: TcpTunnelsOptions) {
    this.#options = options;
  }

  get totals() {
    const { written, read, ...others } = this.#carried.totals;
    return { ...others, bytesToTarget: read, bytesToClient: written, answers: this.#answers.all };
  }

  /** Opens a tunnel, tells the program, and carries the bytes of its connection. Never rejects. */
  async carry(socket: Socket, target: Target, program: Program): Promise<void> {
    const left = new AbortController();
    const leave = (): void => left.abort();
    socket.once('close', leave);
    const about = { target: formatAddress({ address: target.host, port: target.port }), program: program.kind };
    try {
      const stream = await this.#open(target, left.signal);
      if (socket.destroyed) {
        stream.abort();
        return;
      }
      socket.off('close', leave);
      this.#answers.note(200);
      program.accept();
      this.#carried.join(stream, socket, idleMs, ({ reason, written, read, seconds }) => {
        // What the program has said last is on its way.
        if (reason !== 'ended') stream.outgoing.destroy();
        const ended = { reason: sides[reason], bytesToTarget: read, bytesToClient: written, seconds };
        this.#options.log.info({ ...about, ...ended }, 'TCP tunnel ended');
      });
    } catch (error) {
      if (socket.destroyed) return;
      const refusal = error instanceof TunnelRefused ? error : gatewayLost(errorMessage(error), isTimeout(error));
      this.#answers.note(refusal.status);
      this.#options.log.info({ ...about, status: refusal.status, error: refusal.message }, 'tunnel refused');
      program.refuse(refusal);
    }
  }

  /** @throws TunnelRefused, or what kept the request from the gateway */
  async #open(target: Target, signal: AbortSignal): Promise<OpenedStream> {
    const { gateway } = this.#options;
    for (let attempt = 0; ; attempt++) {
      const client = await gateway.open();
      // The program may have left meanwhile.
      signal.throwIfAborted();
      try {
        return await this.#carried.timed(this.#ask(client, target, signal));
      } catch (error) {
        if (!wantsAnother(error)) throw error;
        gateway.retire(client);
        // No byte of the program is on its way yet.
        if (attempt > 0 || signal.aborted) throw error;
      }
    }
  }

  async #ask(client: Http3Client, { host, port }: Target, signal: AbortSignal): Promise<OpenedStream> {
    const outgoing = new PassThrough();
    const cancel = new AbortController();
    const leave = (): void => cancel.abort();
    signal.addEventListener('abort', leave);
    try {
      const incoming = await client.request({
        method: 'CONNECT',
        path: '',
        authority: formatAddress({ address: host, port }),
        headers: { ...priority, ...this.#options.headers },
        body: outgoing,
        signal: cancel.signal,
      });
      if (incoming.status < 200 || incoming.status > 299) throw refuse(incoming);
      return { incoming, outgoing, abort: () => cancel.abort() };
    } catch (error) {
      outgoing.end();
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }
}

/** Whether another connection may do better: the gateway is gone, or about to go, and did nothing for the request. */
const wantsAnother = (error: unknown): boolean =>
  error instanceof TunnelRefused ? error.why === 'draining' : lostConnection(error);

function refuse(response: ReceivedResponse): TunnelRefused {
  const refusal = refusalOf(response.status, headerValue(response.headers, 'proxy-status'));
  response.destroy();
  return refusal;
}

const isTimeout = (error: unknown): boolean => (error as { timeout?: unknown }).timeout === true;
