import type { NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import type { Target } from '../../http/exchange.js';
import type { Route } from '../../http/router.js';
import type { MediaRoute } from '../../media/media_route.js';
import type { EdgeMediaStatus } from '../../observability/status.js';
import type { CarriedMediaOptions } from '../../schema/media.js';
import type { SessionTarget } from '../../targets/webtransport/session_server.js';
import { addMedia, openMedia } from '../site/routes.js';
import { ChannelLink } from './channel_link.js';
import type { GatewayConnection } from '../uplink/gateway_connection.js';

export interface CarriedMediaDependencies {
  gateway: GatewayConnection;
  module: NativeModule;
  log: Logger;
}

interface Carried {
  route: string;
  media: MediaRoute;
  link: ChannelLink;
}

/** The routes of an edge to broadcasts that channels of its gateway bring */
export class CarriedMedia {
  readonly requests: Route<Target>[] = [];
  readonly sessions: Route<SessionTarget>[] = [];
  readonly #carried: Carried[] = [];

  private constructor() {
    // Made by `open`.
  }

  static async open(
    routes: readonly CarriedMediaOptions[],
    dependencies: CarriedMediaDependencies,
  ): Promise<CarriedMedia> {
    const opened = new CarriedMedia();
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

  /** Begins to join. */
  start(): void {
    for (const { link } of this.#carried) void link.run();
  }

  close(): void {
    for (const { link } of this.#carried) link.close();
  }

  async #add(
    options: CarriedMediaOptions,
    index: number,
    { gateway, module, log }: CarriedMediaDependencies,
  ): Promise<void> {
    const { ChannelReceiver } = await import('../../media/channel/channel_receiver.js');
    const media = await openMedia({ ...options, publish: [] });
    addMedia(options, index, media, options.origins, this);
    const receiver = new ChannelReceiver({ ...media.cache, broadcasts: media.broadcasts, log });
    const link = new ChannelLink({ gateway, module, options, receiver, log });
    this.#carried.push({ route: options.path, media, link });
  }
}
