import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Broadcast } from '../model/broadcast.js';
import type { Broadcasts } from '../model/broadcasts.js';
import type { Clock } from '../model/clock.js';
import type { CacheLimits } from '../model/group_cache.js';
import { MediaError } from '../model/media_error.js';
import { decodeAnnouncement, decodeAnnounceOk, encodeAnnounceRequest, MOQ_LIMITS, REQUEST_STREAM } from './messages.js';
import type { MoqStreams } from './moq_streams.js';
import type { PublishedTracks } from './published_tracks.js';

/** Broadcasts of one client at one time */
const maxBroadcasts = 32;

export interface PublishedBroadcastsOptions {
  streams: MoqStreams;
  tracks: PublishedTracks;
  broadcasts: Broadcasts;
  limits: CacheLimits;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  /** The network of the client, whose clients share memory */
  network: string;
  /** The number of this node */
  origin: bigint;
}

/** Takes the announcements of a client, and makes its broadcasts known while it is there. */
export class PublishedBroadcasts {
  readonly #own = new Map<string, Broadcast>();
  #refused = false;

  constructor(private readonly options: PublishedBroadcastsOptions) {}

  /** Runs until the client ends its announcements, or the session. @throws MediaError when the client violates the protocol */
  async run(): Promise<void> {
    const { streams, origin } = this.options;
    const stream = await streams.request(
      REQUEST_STREAM.announce,
      encodeAnnounceRequest({ prefix: '', excludeHop: origin }),
    );
    try {
      const { origin: publisher } = decodeAnnounceOk(await stream.reader.requiredMessage());
      for (;;) {
        const message = await stream.reader.message();
        if (message === undefined) return;
        const { active, suffix, hops } = decodeAnnouncement(message);
        if (active) this.#tryToBegin(suffix, hops, publisher);
        else this.#end(suffix);
      }
    } finally {
      this.close();
      stream.sent.end();
      stream.reader.cancel(new MediaError('cancelled', 'announcements are no longer read'));
    }
  }

  close(): void {
    for (const name of [...this.#own.keys()]) this.#end(name);
  }

  /** A broadcast for which there is no room is not taken. The others of the client go on. */
  #tryToBegin(name: string, hops: readonly bigint[], publisher: bigint): void {
    try {
      this.#begin(name, hops, publisher);
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      // One line for each session, since a client could announce again and again.
      if (!this.#refused) this.options.log.warn({ broadcast: name, reason: error.message }, 'broadcast refused');
      this.#refused = true;
    }
  }

  #begin(name: string, hops: readonly bigint[], publisher: bigint): void {
    const { broadcasts, tracks, limits, clock, network, origin } = this.options;
    if (hops.includes(origin) || hops.length === MOQ_LIMITS.hops) return;
    if (!this.#own.has(name) && this.#own.size === maxBroadcasts)
      throw new MediaError('too_large', `a client announces more than ${maxBroadcasts} broadcasts`);
    const source = tracks.source(name);
    const token = randomBytes(6).toString('hex');
    const memory = broadcasts.memory.shareOf(network);
    const broadcast = new Broadcast(name, { source, limits, memory, token, clock, hops: [...hops, publisher] });
    broadcasts.add(broadcast);
    this.#own.set(name, broadcast);
  }

  #end(name: string): void {
    const broadcast = this.#own.get(name);
    // Broadcasts that came through this node are not taken, and end all the same.
    if (broadcast === undefined) return;
    this.#own.delete(name);
    this.options.broadcasts.remove(broadcast);
  }
}
