import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Broadcast, type Publication } from '../model/broadcast.js';
import type { Broadcasts } from '../model/broadcasts.js';
import type { Clock } from '../model/clock.js';
import type { CacheLimits } from '../model/group_cache.js';
import { MediaError } from '../model/media_error.js';
import {
  decodeAnnouncement,
  decodeAnnounceOk,
  decodeInnerAnnouncement,
  encodeAnnounceRequest,
  MOQ_LIMITS,
  REQUEST_STREAM,
  type InnerAnnouncement,
} from './messages.js';
import type { MoqPeer } from './moq_peer.js';
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
  peer: MoqPeer;
  /** The number of this node */
  origin: bigint;
}

/** Takes the announcements of a client or another worker, and makes its broadcasts known while it is there. */
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
        const announcement = this.#decode(message);
        if (announcement.active) this.#tryToBegin(announcement, publisher);
        else this.#end(announcement.suffix);
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

  #decode(message: Uint8Array): InnerAnnouncement {
    if (this.options.peer.kind === 'worker') return decodeInnerAnnouncement(message);
    return { ...decodeAnnouncement(message), publication: undefined };
  }

  /** A broadcast for which there is no room is not taken. The others of the client go on. */
  #tryToBegin(announcement: InnerAnnouncement, publisher: bigint): void {
    try {
      this.#begin(announcement, publisher);
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      // One line for each session, since a client could announce again and again.
      if (!this.#refused)
        this.options.log.warn({ broadcast: announcement.suffix, reason: error.message }, 'broadcast refused');
      this.#refused = true;
    }
  }

  #begin({ suffix: name, hops: before, publication: known }: InnerAnnouncement, publisher: bigint): void {
    const { broadcasts, tracks, limits, clock, peer, origin } = this.options;
    const isCopy = known !== undefined;
    // Workers of one node are the same hop.
    const hops = isCopy ? before : [...before, publisher];
    if (before.includes(origin) || hops.length > MOQ_LIMITS.hops) return;
    if (peer.kind === 'client' && !this.#own.has(name) && this.#own.size === maxBroadcasts)
      throw new MediaError('too_large', `a client announces more than ${maxBroadcasts} broadcasts`);
    const publication = known ?? this.#publish();
    // Two clients may publish the same name at two workers, and the news of this cross.
    if (broadcasts.hasNewer(name, publication)) return;
    const source = tracks.source(name);
    const memory = broadcasts.memory.shareOf(publication.network);
    const broadcast = new Broadcast(name, { source, limits, memory, publication, isCopy, clock, hops });
    broadcasts.add(broadcast);
    this.#own.set(name, broadcast);
  }

  #publish(): Publication {
    const { peer, clock } = this.options;
    const network = peer.kind === 'client' ? peer.network : '';
    return { token: randomBytes(6).toString('hex'), startedAt: clock.now(), network };
  }

  #end(name: string): void {
    const broadcast = this.#own.get(name);
    // Broadcasts that came through this node are not taken, and end all the same.
    if (broadcast === undefined) return;
    this.#own.delete(name);
    this.options.broadcasts.remove(broadcast);
  }
}
