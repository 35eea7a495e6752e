import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { RouteOptions } from '../schema/routes.js';
import type { ConnectOptions } from '../schema/tunnels.js';
import { formatAddress } from '../values/listen_error.js';
import { Access, type AccessParts, type Admitted } from './access.js';
import { Answers } from './answers.js';
import { CarriedSockets } from './carried_sockets.js';
import { connectFirst, UnreachableError } from './connect_first.js';
import { inCapsules } from './capsule_stream.js';
import { full, isExhausted, proxyStatus, Refusal } from './refusal.js';
import { readAuthority, type Target } from './target_rules.js';
import { aboutTunnel, type ConnectRequest } from './tunnel_request.js';
import { TunnelRoutes, type TunnelRoute } from './tunnel_routes.js';

export interface ConnectServerOptions {
  routes: readonly RouteOptions[];
  parts: AccessParts;
  log: Logger;
  /** Server that this one follows, whose tunnels and counts it takes over */
  before?: ConnectServer | undefined;
}

/**
 * Answers CONNECT (RFC 9110 §9.3.6), and requests by templates: decides who may reach what, and carries bytes to TCP servers and back.
 */
export class ConnectServer {
  readonly #classic: Way | undefined;
  readonly #templates: TunnelRoutes<ConnectOptions>;
  readonly #log: Logger;
  readonly #answers: Answers;
  readonly #carried: CarriedSockets;

  /** Returns undefined without a route for TCP. @throws UserError when the users of one cannot be read */
  static async open({ routes, parts, log, before }: ConnectServerOptions): Promise<ConnectServer | undefined> {
    const route = routes.find((each) => each.connect !== undefined);
    const options = route?.connect;
    const classic = route && options && { options, access: await Access.open(options, parts, route) };
    const templates = await TunnelRoutes.open(routes, (route) => route.connect_tcp, parts);
    return classic || !templates.isEmpty ? new ConnectServer({ classic, templates, log, before }) : undefined;
  }

  private constructor({ classic, templates, log, before }: OpenedServer) {
    this.#classic = classic;
    this.#templates = templates;
    this.#log = log;
    this.#answers = before ? before.#answers : new Answers(log);
    this.#carried = before ? before.#carried : new CarriedSockets();
  }

  /** Whether there is a route for CONNECT, and one for templates */
  get kinds(): { classic: boolean; templates: boolean } {
    return { classic: this.#classic !== undefined, templates: !this.#templates.isEmpty };
  }

  /** What tunnels did so far, and how many are open now */
  get totals() {
    const { written, read, ...others } = this.#carried.totals;
    return { ...others, bytesToTarget: written, bytesToClient: read, answers: this.#answers.counts };
  }

  close(): void {
    this.#carried.close();
  }

  answer(request: ConnectRequest): Promise<void> {
    return this.#answers.settle(request, () => this.#open(request));
  }

  /** Returns false when the client has left meanwhile. @throws Refusal */
  async #open(request: ConnectRequest): Promise<boolean> {
    const { route, target } = this.#find(request);
    const admitted = route.access.admit(request, target);
    try {
      request.confirm();
      const left = new AbortController();
      request.whenClosed(() => left.abort());
      const addresses = await route.access.addresses(target);
      const socket = await this.#carried.timed(connectTo(addresses, target.port, left.signal));
      if (socket) this.#join(request, socket, { target, admitted, idleMs: route.options.idle });
      else admitted.place();
      return socket !== undefined;
    } catch (error) {
      admitted.place();
      throw error;
    }
  }

  /** @throws Refusal */
  #find({ url, authority }: ConnectRequest): { route: Way; target: Target } {
    if (url !== undefined) return this.#templates.find(url, authority);
    const target = readAuthority(authority);
    if (!target) throw new Refusal(400);
    if (!this.#classic) throw new Refusal(501);
    return { route: this.#classic, target };
  }

  #join(request: ConnectRequest, socket: Socket, { target, admitted, idleMs }: Opened): void {
    const { stream, url } = request;
    const { user, place } = admitted;
    const address = socket.remoteAddress ?? '';
    stream.accept({
      ...(url !== undefined && { 'capsule-protocol': '?1' }),
      ...proxyStatus(`next-hop="${formatAddress({ address, port: target.port })}"`),
    });
    const joined = url === undefined ? stream : inCapsules(stream);
    this.#carried.join(joined, socket, idleMs, ({ reason, written, read, seconds }) => {
      place();
      const about = aboutTunnel(request, { target, address, user });
      const ended = { reason: sides[reason], bytesToTarget: written, bytesToClient: read, seconds };
      this.#log.info({ ...about, ...ended }, 'TCP tunnel ended');
    });
  }
}

/** What the log calls the sides of a tunnel */
const sides = { ended: 'ended', stream: 'client', socket: 'target', idle: 'idle' } as const;

/** The users that may open tunnels for TCP, and for how long they may be idle */
type Way = Pick<TunnelRoute<ConnectOptions>, 'options' | 'access'>;

interface OpenedServer extends Pick<ConnectServerOptions, 'log' | 'before'> {
  classic: Way | undefined;
  templates: TunnelRoutes<ConnectOptions>;
}

interface Opened {
  target: Target;
  admitted: Admitted;
  idleMs: number;
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
