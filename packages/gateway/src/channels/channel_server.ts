import type { ChannelSource, JoinableChannel, NativeModule, ServerRequest, ServerResponse } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage, UserError } from '../errors/user_error.js';
import { parseRequestTarget } from '../http/request_target.js';
import { compileRoute, findRoute, type Route } from '../http/router.js';
import type { ChannelOptions } from '../schema/channels.js';
import type { RouteOptions } from '../schema/routes.js';
import { Shares } from '../slow_clients/shares.js';
import { networkOf } from '../values/client_network.js';
import { formatAddress } from '../values/listen_error.js';
import { Networks } from '../values/networks.js';
import { readNodeKey } from '../values/node_key.js';
import { channelWorker, type ChannelWorker } from './channel_worker.js';
import { publish, type Published, type Title } from './publication.js';

/** A channel that this gateway is the source of */
interface Channel {
  name: string;
  joinable: JoinableChannel;
  /** Undefined when another worker has it */
  source: ChannelSource | undefined;
  /** Places of receivers, which networks of clients share */
  places: Shares;
  clients: Networks | undefined;
}

export interface ChannelServerOptions {
  module: NativeModule;
  channels: Readonly<Record<string, ChannelOptions>>;
  routes: readonly RouteOptions[];
  worker?: ChannelWorker | undefined;
  log: Logger;
}

/** Lets clients join the channels of a gateway, and publishes on them. */
export class ChannelServer {
  readonly #channels: ReadonlyMap<string, Channel>;
  #routes: Route<Channel>[] = [];
  /** Names of channels that routes of media write to */
  readonly #carrying = new Set<string>();
  readonly #log: Logger;
  readonly #hits = { channel_places: 0, channel_joins: 0 };

  /** Opens the sources of all channels. @throws UserError when the machine refuses one, or a key cannot be used */
  static async open(options: ChannelServerOptions): Promise<ChannelServer> {
    const channels = new Map<string, Channel>();
    try {
      for (const [name, channel] of Object.entries(options.channels))
        channels.set(name, await openChannel(options, name, channel));
    } catch (error) {
      for (const { source } of channels.values()) source?.close();
      throw error;
    }
    return new ChannelServer(channels, options);
  }

  private constructor(
    channels: ReadonlyMap<string, Channel>,
    { routes, log }: Pick<ChannelServerOptions, 'routes' | 'log'>,
  ) {
    this.#channels = channels;
    this.#log = log;
    this.useRoutes(routes);
  }

  /** Lets clients join by these routes from now on. Receivers stay where they are. */
  useRoutes(routes: readonly RouteOptions[]): void {
    this.#routes = routes.flatMap((route, index) => {
      const channel = route.channel === undefined ? undefined : this.#channels.get(route.channel);
      return channel ? [compileRoute(route, index, channel)] : [];
    });
  }

  /** Answers a request that joins a channel. */
  answer(request: ServerRequest, response: ServerResponse): void {
    const remoteAddress = formatAddress(request.remoteAddress);
    const refuse = (status: number, headers: Record<string, string> = {}): void => {
      this.#log.info({ path: request.url, status, remoteAddress }, 'channel refused');
      response.writeHead(status, headers).end();
    };
    const pathname = parseRequestTarget(request.url)?.routed;
    if (pathname === undefined) return refuse(400);
    const match = findRoute(this.#routes, { host: request.authority, pathname, method: 'CONNECT' });
    if (!match.found) return refuse(match.ambiguous ? 400 : 404);
    const { name, joinable, places, clients } = match.route.answer;
    const { address } = request.remoteAddress;
    if (clients?.has(address) === false) return refuse(403);
    const heldDownMs = joinable.heldDownMs(address);
    if (heldDownMs > 0) {
      this.#hits.channel_joins += 1;
      return refuse(503, { 'retry-after': String(Math.ceil(heldDownMs / 1_000)) });
    }
    const network = networkOf(address);
    if (!places.hasRoomFor(network)) {
      this.#hits.channel_places += 1;
      return refuse(503, { 'retry-after': '1' });
    }
    places.add(network);
    const started = performance.now();
    response.once('close', () => {
      places.delete(network);
      const seconds = (performance.now() - started) / 1_000;
      this.#log.info({ channel: name, remoteAddress, seconds }, 'receiver left');
    });
    if (joinable.serve(request, response)) this.#log.info({ channel: name, remoteAddress }, 'receiver joined');
    else response.destroy();
  }

  /** How often clients met a bound that protects others (docs/reference/limits.md) */
  get limitHits(): Readonly<Record<string, number>> {
    return this.#hits;
  }

  /** Publishes bytes as they come. Returns undefined when no channel here has this name, or it carries broadcasts. */
  publish(channel: string, bytes: AsyncIterable<Buffer>, title: Title): Promise<Published> | undefined {
    const source = this.#channels.get(channel)?.source;
    return source && !this.#carrying.has(channel) ? publish(source, bytes, title) : undefined;
  }

  /** Returns the source of a channel for a route that carries broadcasts to it, and nothing else. Undefined: another worker has it. */
  carry(channel: string): ChannelSource | undefined {
    const found = this.#channels.get(channel);
    if (!found) throw new Error(`there is no channel ${channel}`);
    this.#carrying.add(channel);
    return found.source;
  }

  /** Tells of the channels whose sources are here. */
  status() {
    return [...this.#channels.values()].flatMap(({ name, source }) => (source ? [{ name, ...source.status() }] : []));
  }

  /** Withdraws the channels whose sources are here. */
  close(): void {
    for (const { source } of this.#channels.values()) source?.close();
  }
}

type OpeningOptions = Pick<ChannelServerOptions, 'module' | 'worker'>;

async function openChannel(
  { module, worker }: OpeningOptions,
  name: string,
  options: ChannelOptions,
): Promise<Channel> {
  const { receivers, clients } = options;
  const sharedAs = worker && `${Buffer.from(worker.process).toString('hex')} ${name}`;
  const isHere = worker === undefined || worker.index === channelWorker;
  const source = isHere ? await openSource(module, name, { ...options, sharedAs }) : undefined;
  return {
    name,
    joinable: source ?? module.sharedChannel(sharedAs!),
    source,
    places: new Shares(Math.ceil(receivers / (worker?.count ?? 1))),
    clients: clients && new Networks(clients),
  };
}

async function openSource(
  module: NativeModule,
  name: string,
  options: ChannelOptions & { sharedAs: string | undefined },
): Promise<ChannelSource> {
  const { group, source, relay, hops, rate, copies, deadline, receivers, clients, authentication, repairs } = options;
  const keyOnLeaving = options.key_on_leaving ?? clients !== undefined;
  const key = options.key === undefined ? undefined : await readNodeKey(options.key);
  try {
    return module.openChannelSource({
      ...(group && { group: { address: group.address, port: group.port } }),
      ...(source !== undefined && { source }),
      ...(relay && { relay: { address: relay.address, port: relay.port } }),
      ...(options.interface !== undefined && { interface: options.interface }),
      hops,
      rate,
      ...(options.slowest_rate !== undefined && { slowestRate: options.slowest_rate }),
      copyRate: copies,
      deadlineMs: deadline,
      keyIntervalMs: options.key_interval,
      keyOnLeaving,
      maxReceivers: receivers,
      ...(authentication !== undefined && { authentication }),
      ...(key && { seed: key.seed() }),
      ...(repairs !== undefined && { repairs }),
      ...(options.sharedAs !== undefined && { sharedAs: options.sharedAs }),
    });
  } catch (error) {
    throw new UserError('ADDRESS_UNAVAILABLE', `the channel \`${name}\` cannot be sent: ${errorMessage(error)}`, {
      hint: '`ip addr` lists the interfaces of this machine with their addresses, of which `source` is one',
      cause: error,
    });
  }
}
