import { headerValue } from '../http/exchange.js';
import type { RouteOptions } from '../schema/routes.js';
import type { AccessOptions } from '../schema/tunnels.js';
import { canonicalText } from '../values/canonical.js';
import { networkOf } from '../values/client_network.js';
import { OwnCounts, type Counts } from '../values/counts.js';
import { Networks } from '../values/networks.js';
import { AttemptLimit } from './attempt_limit.js';
import { Places } from './places.js';
import { draining, full, prohibited, proxyStatus, Refusal } from './refusal.js';
import { addressesOf, ResolutionError, type Resolve } from './target_addresses.js';
import { ownAddresses, TargetRules, type Target } from './target_rules.js';
import type { AskedTunnel } from './tunnel_request.js';
import { TunnelUsers } from './users.js';

/** Wrong passwords from one network */
const guessesPerMinute = 10;

/** What the routes of a gateway share, and what tests replace */
export interface AccessParts {
  guesses: AttemptLimit;
  resolve: Resolve;
  own: () => ReadonlySet<string>;
  /** Whether the gateway stops, and opens no more tunnels */
  isDraining: () => boolean;
  /** Returns the counts of a route, which all workers of the node have together. */
  counts: (route: string) => Counts;
}

export const accessParts = (
  resolve: Resolve,
  {
    own = ownAddresses,
    isDraining = () => false,
    counts = () => new OwnCounts(),
  }: Partial<Pick<AccessParts, 'own' | 'isDraining' | 'counts'>> = {},
): AccessParts => ({
  guesses: new AttemptLimit(guessesPerMinute),
  resolve,
  own,
  isDraining,
  counts,
});

interface OpenedParts extends AccessParts {
  users: TunnelUsers | undefined;
  places: Places;
}

/** A client that may have a tunnel, and has a place for it */
export interface Admitted {
  /** Undefined where users have no names */
  user: string | undefined;
  /** Whose limits the tunnel counts for: the user, or the client's network where users have no names */
  owner: string;
  /** Gives its place back. */
  place: () => void;
}

/** Rules of a route with tunnels: for whom they are, to which targets they lead, and how many there may be at a time */
export class Access {
  readonly #parts: AccessParts;
  readonly #rules: TargetRules;
  readonly #places: Places;
  readonly #starts: AttemptLimit;
  readonly #users: TunnelUsers | undefined;
  readonly #clients: Networks | undefined;

  /** `route` is the one that `options` belong to. @throws UserError when the users cannot be read */
  static async open(options: AccessOptions, parts: AccessParts, route: RouteOptions): Promise<Access> {
    const users = options.users === undefined ? undefined : await TunnelUsers.read(options.users);
    return new Access(options, { ...parts, users, places: new Places(options, parts.counts(canonicalText(route))) });
  }

  private constructor(options: AccessOptions, { users, places, ...parts }: OpenedParts) {
    this.#parts = parts;
    this.#rules = new TargetRules(options.allow, parts.own);
    this.#places = places;
    this.#starts = new AttemptLimit(options.new_tunnels);
    this.#users = users;
    this.#clients = options.clients && new Networks(options.clients);
  }

  /** Decides before anything is done for the client. @throws Refusal */
  admit(request: AskedTunnel, target: Target): Admitted {
    if (this.#parts.isDraining()) throw draining();
    // RFC 8470 §5.2: what comes in 0-RTT packets may be a replay, and packets are sent for it.
    if (request.early) throw new Refusal(425);
    const client = networkOf(request.address);
    if (this.#clients?.has(request.address) === false) throw new Refusal(403);
    const user = this.#authenticate(request, client);
    if (!this.#rules.mayPermit(target)) throw prohibited();
    const owner = user ?? client;
    this.#noteStart(owner);
    const place = this.#places.take(user, client);
    if (place === 503) throw full();
    if (place === 429) throw new Refusal(429, { 'retry-after': '10' });
    return { user, owner, place };
  }

  /**
   * Returns the addresses of a target that are permitted. Only these are connected to: a name that has another address a moment
   * later gains nothing. @throws Refusal
   */
  async addresses(target: Target): Promise<[string, ...string[]]> {
    const found = await addressesOf(target.host, this.#parts.resolve).catch((error: unknown) => {
      if (error instanceof ResolutionError) throw new Refusal(error.status, proxyStatus(error.proxyStatus));
      throw error;
    });
    const [first, ...others] = this.#rules.permitted(target, found);
    if (first === undefined) throw prohibited();
    return [first, ...others];
  }

  /** A name is resolved and a socket is opened for each tunnel, however short it is. @throws Refusal */
  #noteStart(owner: string): void {
    const now = performance.now();
    if (!this.#starts.permits(owner, now)) throw new Refusal(429, { 'retry-after': '60' });
    this.#starts.note(owner, now);
  }

  /** Returns the name of the user, where users have names. @throws Refusal */
  #authenticate({ headers, asOrigin: isOrigin = false }: AskedTunnel, client: string): string | undefined {
    if (!this.#users) return undefined;
    const { guesses } = this.#parts;
    const now = performance.now();
    if (!guesses.permits(client, now)) throw new Refusal(429, { 'retry-after': '60' });
    const proxyField = headerValue(headers, 'proxy-authorization');
    const field = proxyField ?? headerValue(headers, 'authorization');
    const user = field === undefined ? undefined : this.#users.find(field);
    if (user !== undefined) return user;
    if (field !== undefined) guesses.note(client, now);
    const asOrigin = isOrigin || (field !== undefined && proxyField === undefined);
    throw asOrigin
      ? new Refusal(401, { 'www-authenticate': 'Basic realm="sheaf"' })
      : new Refusal(407, { 'proxy-authenticate': 'Basic realm="sheaf"' });
  }
}
