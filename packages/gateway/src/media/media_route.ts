import { randomBytes } from 'node:crypto';
import type { ChannelSource } from '@sheaf/native';
import type { Logger } from 'pino';
import type { MediaOptions } from '../schema/media.js';
import { networkOf } from '../values/client_network.js';
import { Networks } from '../values/networks.js';
import { headerValue, type Exchange, type Target } from '../http/exchange.js';
import { respondStatus, respondText } from '../http/respond.js';
import type { SessionTarget } from '../targets/webtransport/session_server.js';
import type { WorkerLinks } from '../worker_links/worker_links.js';
import { ChannelPublisher } from './channel/channel_publisher.js';
import { groupHeader, respondGroup } from './group_file.js';
import { HlsFace } from './hls/hls_face.js';
import { PortSession } from './links/port_session.js';
import { Broadcasts } from './model/broadcasts.js';
import { systemClock, type Clock } from './model/clock.js';
import type { CacheLimits } from './model/group_cache.js';
import { MediaError } from './model/media_error.js';
import { MemoryBudget } from './model/memory_budget.js';
import { MOQ_PROTOCOL } from './moq/messages.js';
import { MoqSession, type MoqSessionOptions } from './moq/moq_session.js';

export type MediaRouteOptions = Pick<MediaOptions, 'publish' | 'origins' | 'history' | 'memory'>;

/** What makes the broadcasts of this route the same at all workers of a node */
export interface RouteSharing {
  links: WorkerLinks;
  /** Names this route to the other workers. */
  use: string;
  log: Logger;
}

/** Broadcasts that may use all of their memory at one time */
const fullBroadcasts = 16;

/** Networks whose clients may publish by default */
const thisMachine = [
  { address: '127.0.0.0', prefix: 8 },
  { address: '::1', prefix: 128 },
];

/** A route to live broadcasts, which clients publish and watch in sessions, and fetch by requests */
export class MediaRoute implements Target {
  readonly broadcasts: Broadcasts;
  readonly ignoresCredentials = true;
  readonly sessions: Omit<SessionTarget, 'isOriginAllowed'>;
  readonly #hls = new HlsFace(systemClock);
  readonly #publishers: Networks | undefined;
  #openSessions = 0;
  #toChannel: ChannelPublisher | undefined;
  /** Number of this node in announcements. Zero means unknown, and 53 bits are what all clients read. */
  readonly #origin: bigint;
  #unlink: () => void = () => undefined;

  /** How much of each broadcast is kept, and by which clock */
  readonly cache: { limits: CacheLimits; clock: Clock };

  constructor(
    private readonly options: MediaRouteOptions,
    private readonly sharing?: RouteSharing,
  ) {
    const id = sharing ? sharing.links.idOf(sharing.use) : randomBytes(6);
    this.#origin = BigInt(id.readUIntBE(0, 6)) + 1n;
    this.cache = { limits: { history: options.history, bytes: options.memory }, clock: systemClock };
    this.broadcasts = new Broadcasts(new MemoryBudget(fullBroadcasts * options.memory));
    const { publish = thisMachine } = options;
    this.#publishers = publish === 'everybody' ? undefined : new Networks(publish);
    this.sessions = {
      protocols: [MOQ_PROTOCOL],
      application: {
        run: async (session, { remoteAddress, forwarded, log }) => {
          this.#openSessions += 1;
          const address = hostOf(remoteAddress);
          const mayPublish = this.#mayPublish(address, forwarded);
          await this.#run({ session, peer: { kind: 'client', mayPublish, network: networkOf(address) }, log }).finally(
            () => (this.#openSessions -= 1),
          );
        },
      },
    };
  }

  /** Sessions of publishers and viewers */
  get openSessions(): number {
    return this.#openSessions;
  }

  /** Carries all broadcasts to a channel, too. */
  carryTo(source: ChannelSource): void {
    const { broadcasts } = this;
    this.#toChannel = new ChannelPublisher({ source, broadcasts, origin: this.#origin, clock: systemClock });
  }

  /** Brings the broadcasts of other workers here, and those of this one there. */
  start(): Promise<string[]> {
    if (this.sharing) {
      const { links, use, log } = this.sharing;
      this.#unlink = links.open(use, (port, isFirst) => {
        const session = new PortSession(port, isFirst);
        void this.#run({ session, peer: { kind: 'worker' }, log });
        void session.closed.then(({ closeCode, reason }) => {
          if (closeCode === 0) return;
          log.warn({ use, reason }, 'the link to another worker ended, and is made again after a pause');
        });
      });
    }
    return Promise.resolve([]);
  }

  close(): Promise<void> {
    this.#unlink();
    this.#toChannel?.close();
    return Promise.resolve();
  }

  #run(own: Pick<MoqSessionOptions, 'session' | 'peer' | 'log'>): Promise<void> {
    return new MoqSession({ ...own, broadcasts: this.broadcasts, origin: this.#origin, ...this.cache }).run();
  }

  /** Whoever comes through an edge or another proxy has its address, which may be that of this machine. */
  #mayPublish(address: string, forwarded: boolean): boolean {
    if (this.options.publish === undefined && forwarded) return false;
    return this.#publishers?.has(address) ?? true;
  }

  /** Answers with a file of a broadcast. */
  async handle(exchange: Exchange): Promise<void> {
    if (exchange.request.method !== 'GET' && exchange.request.method !== 'HEAD') {
      respondStatus(exchange, 405, { allow: 'GET, HEAD' });
      return;
    }
    this.#allowOrigin(exchange);
    try {
      await this.#answer(exchange, segmentsOfPath(exchange.rest));
    } catch (error) {
      if (!(error instanceof MediaError) || exchange.response.headersSent) throw error;
      respondStatus(exchange, error.kind === 'too_large' ? 503 : 404);
    }
  }

  /** Lets pages of the route's origins read responses, as they may open sessions. */
  #allowOrigin({ request, response }: Exchange): void {
    const { origins = [] } = this.options;
    if (origins.length === 0) return;
    // Also on responses without the other fields, which a cache must not give to a page.
    response.setHeader('vary', 'origin');
    const origin = headerValue(request.headers, 'origin');
    if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', groupHeader);
  }

  async #answer(exchange: Exchange, path: readonly string[]): Promise<void> {
    const name = path.at(-1) ?? '';
    if (path.length === 0) {
      const names = [...this.broadcasts.all].map((broadcast) => broadcast.name);
      respondText(exchange, 200, JSON.stringify({ broadcasts: names }), { 'content-type': 'application/json' });
      return;
    }
    const whole = this.broadcasts.get(path.slice(0, -1).join('/'));
    if (whole && name === 'index.m3u8') return this.#hls.index(exchange, whole);
    const broadcast = this.broadcasts.get(path.slice(0, -2).join('/'));
    const track = path.at(-2);
    if (broadcast === undefined || track === undefined) {
      respondStatus(exchange, 404);
      return;
    }
    if (await this.#hls.file(exchange, broadcast, track, name)) return;
    await respondGroup(exchange, broadcast.track(track), name);
  }
}

/** Returns the segments of a path, decoded. A path that is malformed has none that a broadcast could have. */
function segmentsOfPath(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '');
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return [''];
  }
}

/** Returns the address of `192.0.2.1:443` or `[2001:db8::1]:443`. */
function hostOf(address: string): string {
  return address.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');
}
