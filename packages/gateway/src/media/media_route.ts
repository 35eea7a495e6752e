import { randomBytes } from 'node:crypto';
import type { MediaOptions } from '../schema/media.js';
import { Networks } from '../values/networks.js';
import type { Exchange, Target } from '../http/exchange.js';
import { respondStatus } from '../http/respond.js';
import type { SessionTarget } from '../targets/webtransport/session_server.js';
import { Broadcasts } from './model/broadcasts.js';
import { systemClock } from './model/clock.js';
import { MOQ_PROTOCOL } from './moq/messages.js';
import { MoqSession } from './moq/moq_session.js';

/** A route to live broadcasts, which clients publish and watch in sessions, and fetch by requests */
export class MediaRoute implements Target {
  readonly broadcasts = new Broadcasts();
  readonly ignoresCredentials = true;
  readonly sessions: Omit<SessionTarget, 'isOriginAllowed'>;
  readonly #publishers: Networks | undefined;
  /** Number of this node in announcements. Zero means unknown, and 53 bits are what all clients read. */
  readonly #origin = BigInt(`0x${randomBytes(6).toString('hex')}`) + 1n;

  constructor(options: MediaOptions) {
    this.#publishers = options.publish === 'everybody' ? undefined : new Networks(options.publish);
    this.sessions = {
      protocols: [MOQ_PROTOCOL],
      application: {
        run: (session, { remoteAddress }) =>
          new MoqSession({
            session,
            broadcasts: this.broadcasts,
            mayPublish: this.#publishers?.has(hostOf(remoteAddress)) ?? true,
            origin: this.#origin,
            limits: { history: options.history, bytes: options.memory },
            clock: systemClock,
          }).run(),
      },
    };
  }

  handle(exchange: Exchange): Promise<void> {
    respondStatus(exchange, 404);
    return Promise.resolve();
  }
}

/** Returns the address of `192.0.2.1:443` or `[2001:db8::1]:443`. */
function hostOf(address: string): string {
  return address.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');
}
