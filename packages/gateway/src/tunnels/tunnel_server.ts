import { tunnelContextsHeader, readTunnelContexts, tunnelInfoHeader, type TunnelOver } from '@sheaf/native';
import type { Logger } from 'pino';
import { systemErrorCode } from '../errors/user_error.js';
import { headerValue } from '../http/exchange.js';
import type { RouteOptions } from '../schema/routes.js';
import type { ConnectUdpOptions } from '../schema/tunnels.js';
import { formatAddress } from '../values/listen_error.js';
import type { AccessParts, Admitted } from './access.js';
import { Answers } from './answers.js';
import { full, isExhausted, proxyStatus, Refusal } from './refusal.js';
import type { Target } from './target_rules.js';
import { aboutTunnel, type TunnelRequest } from './tunnel_request.js';
import { TunnelRoutes, type TunnelRoute } from './tunnel_routes.js';

export interface TunnelServerOptions {
  routes: readonly RouteOptions[];
  /** Reports about tunnels to clients that ask for it */
  reports: boolean;
  parts: AccessParts;
  log: Logger;
  /** Server that this one follows, whose counts it takes over */
  before?: TunnelServer | undefined;
}

/** Answers requests for UDP proxying (RFC 9298): decides who may reach what. The packets are carried natively. */
export class TunnelServer {
  readonly #routes: TunnelRoutes<ConnectUdpOptions>;
  readonly #reports: boolean;
  readonly #log: Logger;
  readonly #answers: Answers;

  /** @throws UserError when the users of a route cannot be read */
  static async open(options: TunnelServerOptions): Promise<TunnelServer> {
    const routes = await TunnelRoutes.open(options.routes, (route) => route.connect_udp, options.parts);
    return new TunnelServer(routes, options);
  }

  private constructor(routes: TunnelRoutes<ConnectUdpOptions>, { reports, log, before }: TunnelServerOptions) {
    this.#routes = routes;
    this.#reports = reports;
    this.#log = log;
    this.#answers = before ? before.#answers : new Answers(log);
  }

  /** How many requests were answered, by status */
  get answers(): Record<string, number> {
    return this.#answers.counts;
  }

  answer(request: TunnelRequest): Promise<void> {
    const started = performance.now();
    return this.#answers.settle(request, () => this.#open(request, started));
  }

  /** Returns false when the client has left meanwhile. @throws Refusal */
  async #open(request: TunnelRequest, started: number): Promise<boolean> {
    const { route, target } = this.#routes.find(request.url, request.authority);
    const contexts = readTunnelContexts(headerValue(request.headers, tunnelContextsHeader), 'client');
    if (contexts === 'malformed') throw new Refusal(400);
    const admitted = route.access.admit(request, target);
    request.whenClosed(admitted.place);
    try {
      const addresses = await route.access.addresses(target);
      const opened = this.#connect(addresses, { route, target, request, contexts, admitted, started });
      if (!opened) admitted.place();
      return opened;
    } catch (error) {
      admitted.place();
      throw error;
    }
  }

  /** Returns false when the client has left. @throws Refusal */
  #connect(addresses: readonly string[], tunnel: PendingTunnel): boolean {
    for (const address of addresses) {
      try {
        return this.#tunnel(address, tunnel);
      } catch (error) {
        const code = systemErrorCode(error);
        if (code === undefined) throw error;
        if (isExhausted(code)) throw full();
      }
    }
    throw new Refusal(502, proxyStatus('error=destination_ip_unroutable'));
  }

  #tunnel(address: string, { route, target, request, contexts, admitted, started }: PendingTunnel): boolean {
    const { options, index } = route;
    const { user, owner, place } = admitted;
    const about = aboutTunnel(request, { target, address, user });
    const reports =
      this.#reports && request.httpVersion === '3' && headerValue(request.headers, tunnelInfoHeader) === '?1';
    const opened = request.open({
      target: { address, port: target.port },
      idleMs: options.idle,
      queueBytes: options.queue,
      mode: options.mode,
      rate: options.rate === undefined ? undefined : { name: `${index} ${owner}`, bytesPerSecond: options.rate },
      reports,
      contexts,
      headers: proxyStatus(`next-hop="${formatAddress({ address, port: target.port })}"`),
      onOver: (over) => {
        place();
        this.#log.info({ ...about, ...accessLine(over, started) }, 'tunnel ended');
      },
    });
    if (opened) this.#log.debug(about, 'tunnel opened');
    return opened !== undefined;
  }
}

interface PendingTunnel {
  route: TunnelRoute<ConnectUdpOptions>;
  target: Target;
  request: TunnelRequest;
  /** As `contexts` of `TunnelOptions` */
  contexts: readonly number[] | undefined;
  admitted: Admitted;
  started: number;
}

/** What the log says about a tunnel that is over. Reasons for which no packet was dropped are left out. */
function accessLine({ drops, ...over }: TunnelOver, started: number) {
  const dropped = Object.fromEntries(Object.entries(drops).filter(([, packets]) => packets > 0));
  return { ...over, drops: dropped, seconds: (performance.now() - started) / 1_000 };
}
