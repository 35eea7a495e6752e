import type { NativeModule, ServerRequest, ServerResponse, TunnelOver } from '@sheaf/native';
import type { Logger } from 'pino';
import { systemErrorCode } from '../errors/user_error.js';
import { headerValue } from '../http/exchange.js';
import { parseRequestTarget } from '../http/request_target.js';
import { compileRoute, findRoute, type Route } from '../http/router.js';
import type { RouteOptions } from '../schema/routes.js';
import type { ConnectUdpOptions } from '../schema/tunnels.js';
import { networkOf } from '../values/client_network.js';
import { formatAddress } from '../values/listen_error.js';
import { Networks } from '../values/networks.js';
import { AttemptLimit } from './attempt_limit.js';
import { Places } from './places.js';
import { addressesOf, ResolutionError, resolveByDns, type Resolve } from './target_addresses.js';
import { ownAddresses, parseTarget, TargetRules, type Target } from './target_rules.js';
import { TunnelUsers } from './users.js';

/** A route with tunnels */
interface TunnelRoute {
  options: ConnectUdpOptions;
  rules: TargetRules;
  places: Places;
  starts: AttemptLimit;
  users: TunnelUsers | undefined;
  index: number;
  clients: Networks | undefined;
}

export interface TunnelServerOptions {
  module: Pick<NativeModule, 'openTunnel'>;
  routes: readonly RouteOptions[];
  log: Logger;
  /** Replaced in tests */
  resolve?: Resolve;
  own?: () => ReadonlySet<string>;
}

/** Why a request gets no tunnel */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(`status ${status}`);
  }
}

/** Name of this proxy in Proxy-Status (RFC 9209) */
const proxyName = 'sheaf';
const proxyStatus = (parameters: string): Record<string, string> => ({ 'proxy-status': `${proxyName}; ${parameters}` });
const prohibited = (): Refusal => new Refusal(403, proxyStatus('error=destination_ip_prohibited'));

/** Wrong passwords from one network */
const guessesPerMinute = 10;

/** Errors of a system that has no room for another socket */
const exhausted = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Answers requests for UDP proxying (RFC 9298): decides who may reach what. The packets are carried natively. */
export class TunnelServer {
  readonly #module: TunnelServerOptions['module'];
  readonly #routes: Route<TunnelRoute>[];
  readonly #log: Logger;
  readonly #resolve: Resolve;
  readonly #guesses = new AttemptLimit(guessesPerMinute);
  readonly #answers = new Map<number, number>();

  /** @throws UserError when the users of a route cannot be read */
  static async open(options: TunnelServerOptions): Promise<TunnelServer> {
    const routes = await Promise.all(
      options.routes.map(async (route, index) => {
        const udp = route.connect_udp;
        if (!udp) return [];
        const answer: TunnelRoute = {
          options: udp,
          rules: new TargetRules(udp.allow, options.own ?? ownAddresses),
          places: new Places(udp),
          starts: new AttemptLimit(udp.new_tunnels),
          index,
          users: udp.users === undefined ? undefined : await TunnelUsers.read(udp.users),
          clients: udp.clients && new Networks(udp.clients),
        };
        return [compileRoute(route, index, answer)];
      }),
    );
    return new TunnelServer(routes.flat(), options);
  }

  private constructor(routes: Route<TunnelRoute>[], { module, log, resolve }: TunnelServerOptions) {
    this.#module = module;
    this.#routes = routes;
    this.#log = log;
    this.#resolve = resolve ?? resolveByDns();
  }

  /** How many requests were answered, by status */
  get answers(): Record<string, number> {
    return Object.fromEntries(this.#answers);
  }

  async answer(request: ServerRequest, response: ServerResponse): Promise<void> {
    const started = performance.now();
    try {
      if (await this.#open(request, response, started)) this.#count(200);
      else response.destroy();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#count(error.status);
      this.#log.info(
        { path: request.url, status: error.status, remoteAddress: formatAddress(request.remoteAddress) },
        'tunnel refused',
      );
      if (!response.destroyed) response.writeHead(error.status, error.headers).end();
      // The client may keep its side open, which would take memory of the connection (RFC 9114 §4.1).
      request.destroy();
    }
  }

  #count(status: number): void {
    this.#answers.set(status, (this.#answers.get(status) ?? 0) + 1);
  }

  /** Returns false when the client has left meanwhile. @throws Refusal */
  async #open(request: ServerRequest, response: ServerResponse, started: number): Promise<boolean> {
    const { route, target } = this.#find(request);
    // RFC 8470 §5.2: what comes in 0-RTT packets may be a replay, and packets are sent for it.
    if (request.early) throw new Refusal(425);
    const client = networkOf(request.remoteAddress.address);
    if (route.clients?.has(request.remoteAddress.address) === false) throw new Refusal(403);
    const user = this.#authenticate(route, request, client);
    if (!route.rules.mayPermit(target)) throw prohibited();
    const owner = user ?? client;
    this.#noteStart(route, owner);
    const place = route.places.take(user, client);
    if (typeof place === 'number') throw new Refusal(place, { 'retry-after': '10' });
    response.once('close', place);
    try {
      const opened = await this.#connect(route, target, { request, response, user, owner, started, place });
      if (!opened) place();
      return opened;
    } catch (error) {
      place();
      throw error;
    }
  }

  /** A name is resolved and a socket is opened for each tunnel, however short it is. @throws Refusal */
  #noteStart({ starts }: TunnelRoute, client: string): void {
    const now = performance.now();
    if (!starts.permits(client, now)) throw new Refusal(429, { 'retry-after': '60' });
    starts.note(client, now);
  }

  #find(request: ServerRequest): { route: TunnelRoute; target: Target } {
    const pathname = parseRequestTarget(request.url)?.routed;
    if (pathname === undefined) throw new Refusal(400);
    const match = findRoute(this.#routes, { host: request.authority, pathname, method: 'CONNECT' });
    if (!match.found) throw new Refusal(match.ambiguous ? 400 : 404);
    const target = parseTarget(match.rest);
    if (!target) throw new Refusal(400);
    return { route: match.route.answer, target };
  }

  /** Returns the name of the user, where users have names. @throws Refusal */
  #authenticate({ users }: TunnelRoute, { headers }: ServerRequest, client: string): string | undefined {
    if (!users) return undefined;
    const now = performance.now();
    if (!this.#guesses.permits(client, now)) throw new Refusal(429, { 'retry-after': '60' });
    const proxyField = headerValue(headers, 'proxy-authorization');
    const field = proxyField ?? headerValue(headers, 'authorization');
    const user = field === undefined ? undefined : users.find(field);
    if (user !== undefined) return user;
    if (field !== undefined) this.#guesses.note(client, now);
    // Clients that take the proxy for an origin know nothing of 407.
    const asOrigin = field !== undefined && proxyField === undefined;
    throw asOrigin
      ? new Refusal(401, { 'www-authenticate': 'Basic realm="sheaf"' })
      : new Refusal(407, { 'proxy-authenticate': 'Basic realm="sheaf"' });
  }

  /** Returns false when the client has left. @throws Refusal */
  async #connect(route: TunnelRoute, target: Target, tunnel: PendingTunnel): Promise<boolean> {
    const found = await addressesOf(target.host, this.#resolve).catch((error: unknown) => {
      if (error instanceof ResolutionError) throw new Refusal(error.status, proxyStatus(error.proxyStatus));
      throw error;
    });
    // Only what was resolved here is connected to: a name that has another address a moment later gains nothing.
    const permitted = found.filter((address) => route.rules.permits(target, address));
    if (permitted.length === 0) throw prohibited();
    for (const address of permitted) {
      try {
        return this.#tunnel(route, target, address, tunnel);
      } catch (error) {
        const code = systemErrorCode(error);
        if (code === undefined) throw error;
        if (exhausted.has(code)) throw new Refusal(503, { 'retry-after': '10' });
      }
    }
    throw new Refusal(502, proxyStatus('error=destination_ip_unroutable'));
  }

  #tunnel({ options, index }: TunnelRoute, target: Target, address: string, tunnel: PendingTunnel): boolean {
    const { request, response, user, owner, started, place } = tunnel;
    const about = {
      target: formatAddress({ address: target.host, port: target.port }),
      address,
      remoteAddress: formatAddress(request.remoteAddress),
      ...(user === undefined ? {} : { user }),
    };
    const opened = this.#module.openTunnel(request, response, {
      target: { address, port: target.port },
      idleMs: options.idle,
      queueBytes: options.queue,
      rate: options.rate === undefined ? undefined : { name: `${index} ${owner}`, bytesPerSecond: options.rate },
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
  request: ServerRequest;
  response: ServerResponse;
  user: string | undefined;
  /** Whose limits the tunnel counts for: the user, or the client's network where users have no names */
  owner: string;
  started: number;
  /** Gives its place back. */
  place: () => void;
}

/** What the log says about a tunnel that is over. Reasons for which no packet was dropped are left out. */
function accessLine({ drops, ...over }: TunnelOver, started: number) {
  const dropped = Object.fromEntries(Object.entries(drops).filter(([, packets]) => packets > 0));
  return { ...over, drops: dropped, seconds: (performance.now() - started) / 1_000 };
}
