import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { RouteOptions } from '../schema/routes.js';
import type { ConnectOptions } from '../schema/tunnels.js';
import { formatAddress } from '../values/listen_error.js';
import { Access, type AccessParts, type Admitted } from './access.js';
import { Answers } from './answers.js';
import { CarriedSockets } from './carried_sockets.js';
import { connectFirst, UnreachableError } from './connect_first.js';
import { full, isExhausted, proxyStatus, Refusal } from './refusal.js';
import { readAuthority, type Target } from './target_rules.js';
import { aboutTunnel, type ConnectRequest } from './tunnel_request.js';

export interface ConnectServerOptions {
  routes: readonly RouteOptions[];
  parts: AccessParts;
  log: Logger;
}

/** Answers CONNECT (RFC 9110 §9.3.6): decides who may reach what, and carries bytes to TCP servers and back. */
export class ConnectServer {
  readonly #access: Access;
  readonly #log: Logger;
  readonly #answers: Answers;
  readonly #carried: CarriedSockets;

  /** Returns undefined without a route for CONNECT. @throws UserError when its users cannot be read */
  static async open({ routes, parts, log }: ConnectServerOptions): Promise<ConnectServer | undefined> {
    const options = routes.find((route) => route.connect !== undefined)?.connect;
    return options && new ConnectServer(options, await Access.open(options, parts), log);
  }

  private constructor(options: ConnectOptions, access: Access, log: Logger) {
    this.#carried = new CarriedSockets(options.idle);
    this.#access = access;
    this.#log = log;
    this.#answers = new Answers(log);
  }

  /** What tunnels did so far, and how many are open now */
  get totals() {
    const { written, read, ...others } = this.#carried.totals;
    return { ...others, bytesToTarget: written, bytesToClient: read, answers: this.#answers.counts };
  }

  answer(request: ConnectRequest): Promise<void> {
    return this.#answers.settle(request, () => this.#open(request));
  }

  /** Returns false when the client has left meanwhile. @throws Refusal */
  async #open(request: ConnectRequest): Promise<boolean> {
    const target = readAuthority(request.authority);
    if (!target) throw new Refusal(400);
    const admitted = this.#access.admit(request, target);
    try {
      const left = new AbortController();
      request.whenClosed(() => left.abort());
      const addresses = await this.#access.addresses(target);
      const socket = await this.#carried.timed(connectTo(addresses, target.port, left.signal));
      if (socket) this.#join(request, socket, { target, admitted });
      else admitted.place();
      return socket !== undefined;
    } catch (error) {
      admitted.place();
      throw error;
    }
  }

  #join(request: ConnectRequest, socket: Socket, { target, admitted }: Opened): void {
    const { stream } = request;
    const { user, place } = admitted;
    const address = socket.remoteAddress ?? '';
    stream.accept(proxyStatus(`next-hop="${formatAddress({ address, port: target.port })}"`));
    this.#carried.join(stream, socket, ({ reason, written, read, seconds }) => {
      place();
      const about = aboutTunnel(request, { target, address, user });
      const ended = { reason: sides[reason], bytesToTarget: written, bytesToClient: read, seconds };
      this.#log.info({ ...about, ...ended }, 'TCP tunnel ended');
    });
  }
}

/** What the log calls the sides of a tunnel */
const sides = { ended: 'ended', stream: 'client', socket: 'target', idle: 'idle' } as const;

interface Opened {
  target: Target;
  admitted: Admitted;
}

/** Resolves with undefined when the client leaves. @throws Refusal with the error of Proxy-Status (RFC 9209 §2.3) */
async function connectTo(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket | undefined> {
  try {
    return await connectFirst(addresses, port, { signal });
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    const { codes } = error;
    if (codes.some(isExhausted)) throw full();
    if (codes.includes('ETIMEDOUT')) throw new Refusal(504, proxyStatus('error=connection_timeout'));
    const refused = codes.includes('ECONNREFUSED');
    throw new Refusal(502, proxyStatus(`error=${refused ? 'connection_refused' : 'destination_ip_unroutable'}`));
  }
}
