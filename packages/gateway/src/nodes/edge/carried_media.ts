import type { NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import type { Target } from '../../http/exchange.js';
import type { Route } from '../../http/router.js';
import type { MediaRoute } from '../../media/media_route.js';
import type { MediaSources } from '../../observability/media_metrics.js';
import type { EdgeMediaStatus } from '../../observability/status.js';
import type { CarriedMediaOptions } from '../../schema/media.js';
import type { SessionTarget } from '../../targets/webtransport/session_server.js';
import type { SharedParts } from '../front/shared_parts.js';
import { addMedia, openMedia } from '../site/routes.js';
import { ChannelLink } from './channel_link.js';
import type { GatewayConnection } from '../uplink/gateway_connection.js';

export interface CarriedMediaDependencies {
  gateway: GatewayConnection;
  module: NativeModule;
  /** Present where the edge has several workers */
  shared: SharedParts | undefined;
  log: Logger;
}

interface Carried {
  route: string;
  media: MediaRoute;
  link: ChannelLink;
}

/** The worker that joins channels. The others have copies of what they bring. */
const joiningWorker = 0;

/** The routes of an edge to broadcasts that channels of its gateway bring */
export class CarriedMedia implements MediaSources {
  readonly requests: Route<Target>[] = [];
  readonly sessions: Route<SessionTarget>[] = [];
  readonly #carried: Carried[] = [];
  readonly #shared: SharedParts | undefined;

  private constructor(shared: SharedParts | undefined) {
    this.#shared = shared;
  }

  static async open(
    routes: readonly CarriedMediaOptions[],
    dependencies: CarriedMediaDependencies,
  ): Promise<CarriedMedia> {
    const opened = new CarriedMedia(dependencies.shared);
    for (const [index, options] of routes.entries()) await opened.#add(options, index, dependencies);
    return opened;
  }

  status(): EdgeMediaStatus[] {
    return this.#carried.map(({ route, media, link }) => ({
      route,
      broadcasts: [...media.broadcasts.all].length,
      viewers: media.openSessions,
      ...link.status(),
    }));
  }

  /** Returns what this thread receives of the channels. */
  channels(): EdgeMediaStatus[] {
    return this.#joins ? this.status() : [];
  }

  /** Begins to share broadcasts with other workers, and to join once the edge serves. */
  async start(): Promise<void> {
    for (const { media } of this.#carried) await media.start();
    if (this.#joins) void Promise.resolve(this.#shared?.begins).then(() => this.#join());
  }

  async close(): Promise<void> {
    for (const { media, link } of this.#carried) {
      link.close();
      await media.close();
    }
  }

  get #joins(): boolean {
    return (this.#shared?.worker.index ?? joiningWorker) === joiningWorker;
  }

  #join(): void {
    for (const { link } of this.#carried) void link.run();
  }

  async #add(
    options: CarriedMediaOptions,
    index: number,
    { gateway, module, shared, log }: CarriedMediaDependencies,
  ): Promise<void> {
    const { ChannelReceiver } = await import('../../media/channel/channel_receiver.js');
    const sharing = shared && { links: shared.links, use: `carried ${options.path}`, log };
    const media = await openMedia({ ...options, publish: [] }, sharing);
    addMedia(options, index, media, options.origins, this);
    const receiver = new ChannelReceiver({ ...media.cache, broadcasts: media.broadcasts, log });
    const link = new ChannelLink({ gateway, module, options, receiver, log });
    this.#carried.push({ route: options.path, media, link });
  }
}
